#!/usr/bin/env bash
# Installs a Debian package in a bare system that runs systemd, serves and plays games there, upgrades from an older
# package in the middle of games, removes and purges it: `trials/debian.sh NEW.deb OLD.deb [SUITE]`, as root, with
# debootstrap and systemd-nspawn. The network is used for debootstrap and for the packages of Debian that ours needs.
set -euo pipefail
new=$(realpath "$1") old=$(realpath "$2") suite=${3:-bookworm}
work=$(mktemp -d)
root=$work/root
trap 'rm -rf "$work"' EXIT

debootstrap --variant=minbase --include=systemd-sysv,python3,man-db,fish "$suite" "$root" >"$work/log" || { cat "$work/log"; exit 1; }
cp "$new" "$root/new.deb"
cp "$old" "$root/old.deb"
cat >"$root/try.sh" <<'EOF'
#!/bin/bash -ex
play() { setpriv --reuid nobody --clear-groups palatinus bot ws://127.0.0.1:7733 --players 3 --seats 3 --brain "$1" --games "$2"; }
files() { find / -xdev -path /proc -prune -o -path /run -prune -o -path /var/log -prune -o -path /var/lib/dpkg -prune -o -path /var/cache -prune -o -path /tmp -prune -o -print | sort; }
trap 'journalctl -u palatinus --no-pager -n 50' EXIT
export DEBIAN_FRONTEND=noninteractive HOME=/tmp
files >/tmp/before
dpkg -i /old.deb
palatinus --version
man palatinus | grep 'print-completion'
fish -c 'complete -C "palatinus tables sal"' | grep salvage
palatinus play --help | grep brain
palatinus arena greedy random --games 4 --cores 2 --no-times
[ "$(systemctl is-enabled palatinus)" = disabled ]
[ "$(systemctl is-active palatinus)" = inactive ]

systemctl enable --now palatinus # which ends when the server listens
: </dev/tcp/127.0.0.1/7733
systemctl status palatinus | grep 'Status: "listening on port 7733"'
play citizen 1
[ "$(stat -c %a /var/lib/private/palatinus)" = 700 ]
[ "$(ps -o user= -C palatinus)" != root ]
palatinus admin --data /var/lib/palatinus status
systemctl reload palatinus
[ -e /usr/share/doc/palatinus/docs/public-server.md ]

play search:1000 12 >/tmp/games & games=$!
until palatinus admin --data /var/lib/palatinus tables | grep -q .; do sleep 0.2; done
dpkg -i /new.deb
palatinus --version
kill -0 $games # they are still playing
wait $games
cat /tmp/games
play citizen 1
systemctl show palatinus -p NRestarts

dpkg -r palatinus
[ -e /var/lib/palatinus/palatinus.sqlite3 ]
if pgrep -x palatinus; then exit 1; fi
dpkg -P palatinus
files >/tmp/after
diff /tmp/before /tmp/after
EOF
cat >"$root/etc/systemd/system/try.service" <<'EOF'
[Unit]
After=multi-user.target
SuccessAction=poweroff-force
FailureAction=poweroff-force
[Service]
Type=oneshot
ExecStart=/bin/bash -c 'bash -ex /try.sh >/try.log 2>&1; echo $? >/try.code'
[Install]
WantedBy=multi-user.target
EOF
systemctl --root="$root" enable -q try
timeout 900 systemd-nspawn -q -D "$root" -b --private-network --register=no --keep-unit >/dev/null </dev/null || true
cat "$root/try.log"
exit "$(cat "$root/try.code" || echo 1)"
