#!/usr/bin/env bash
# What a release has to stand: all files are made in a fresh clone, each is installed in a bare Debian 12 without
# development tools and plays a game to the scoring, and ten games outlive an upgrade. As root, with debootstrap,
# systemd-nspawn and Python 3.11; the container is tried too if podman has the image it is built on.
set -euo pipefail
work=$(mktemp -d)
release=$work/release root=$work/root
trap 'rm -rf "$work"' EXIT
git clone -q "$(dirname "$0")/.." "$work/clone"
cd "$work/clone"

python3.11 -m venv .venv && .venv/bin/pip install -q --require-hashes -r locks/release.txt && .venv/bin/pip install -q -e '.[test]'
.venv/bin/python -m build_release "$release"
(cd "$release" && sha256sum --quiet --check SHA256SUMS)
.venv/bin/pip download -q --only-binary=:all: -d "$work/wheels" "$release"/*-none-any.whl
debootstrap --variant=minbase --include=python3-venv bookworm "$root" >"$work/log" || { cat "$work/log"; exit 1; }

game='serve --host 127.0.0.1 --no-announce --data /tmp/data'
bots='bot ws://127.0.0.1:7733 --players 4 --seats 4 --brain greedy,random'
play() { # PROGRAM, and what installs it; each time the system is as bare as before
    echo "== $1"
    timeout 300 systemd-nspawn -q -D "$root" --volatile=overlay --bind-ro="$release:/release" --bind-ro="$work/wheels:/wheels" \
        --private-network --register=no --keep-unit --pipe bash -ec "$2
            if command -v cc; then exit 1; fi
            export HOME=/tmp
            $1 $game & until (: </dev/tcp/127.0.0.1/7733) 2>/dev/null; do sleep 0.5; done
            $1 $bots | grep 'draws checked'
            kill %1 && wait %1"
}
cd "$release"
play /tmp/venv/bin/palatinus 'python3 -m venv /tmp/venv && /tmp/venv/bin/pip install -q --no-index --find-links /wheels /release/*-none-any.whl'
play "/release/$(echo palatinus-*.pyz)" ''
play "/release/$(echo palatinus-*-linux-x86_64)" 'rm /usr/bin/python3*'

dpkg-deb -R ./*.deb "$work/older" && sed -i 's/^Version: /&0~/' "$work/older/DEBIAN/control"
dpkg-deb -Zgzip --root-owner-group -b "$work/older" "$work/older.deb"
"$work/clone/trials/debian.sh" ./*.deb "$work/older.deb"

cd "$work/clone"
.venv/bin/python -m trials.upgrade --to "$release"/palatinus-*-linux-x86_64

image=docker.io/library/python:3.13-slim
if command -v podman >/dev/null && podman image exists $image; then
    podman build --format docker -q -t palatinus -f docs/examples/Containerfile .
    podman run -d --rm --name palatinus-trial --read-only -v /data palatinus
    timeout 60 bash -c 'until podman healthcheck run palatinus-trial; do sleep 1; done'
    podman exec palatinus-trial /opt/palatinus/bin/palatinus $bots
    podman stop palatinus-trial
else
    echo "podman or its image $image is missing, so the container is not tried."
fi
