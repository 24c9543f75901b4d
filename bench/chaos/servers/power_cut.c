/* What a power cut would take: everything that a process has written to its journal since the last sync.
 *
 * Preloaded into the server. Before a write to a watched file, the bytes it replaces go to an undo file, with
 * where they were and how long the file was; a sync of the watched file empties its undo file. To cut the
 * power, kill the process and take back what the undo files hold, last first.
 *
 * PALATINUS_UNDO is the folder of the undo files, PALATINUS_WATCHED what the names of watched files contain.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct { uint64_t offset, replaced, size; } Undo;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Put the undo file's path into `path`; return 0 if `file` is not watched. */
static int undo_path(int file, char *path, size_t most) {
    const char *folder = getenv("PALATINUS_UNDO"), *watched = getenv("PALATINUS_WATCHED");
    char link[64], name[4096];
    if (!folder || !watched) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, name, sizeof name - 1);
    if (length <= 0) return 0;
    name[length] = 0;
    const char *base = strrchr(name, '/');
    if (!base || !strstr(base, watched)) return 0;
    snprintf(path, most, "%s%s.undo", folder, base);
    return 1;
}

static void raw_write(int file, const void *bytes, size_t count) {
    static ssize_t (*write_)(int, const void *, size_t);
    if (!write_) write_ = dlsym(RTLD_NEXT, "write");
    if (write_(file, bytes, count) != (ssize_t)count) abort();
}

static void remember(int file, off_t offset, size_t count) {
    char path[8192];
    struct stat now;
    if (!undo_path(file, path, sizeof path) || fstat(file, &now)) return;
    size_t replaced = offset >= now.st_size ? 0 : (size_t)(now.st_size - offset);
    if (replaced > count) replaced = count;
    char *bytes = malloc(sizeof(Undo) + replaced);
    ssize_t got = replaced ? pread(file, bytes + sizeof(Undo), replaced, offset) : 0;
    Undo head = {(uint64_t)offset, got > 0 ? (uint64_t)got : 0, (uint64_t)now.st_size};
    memcpy(bytes, &head, sizeof head);
    int undo = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (undo >= 0) {
        raw_write(undo, bytes, sizeof(Undo) + head.replaced);
        close(undo);
    }
    free(bytes);
}

static void forget(int file) {
    char path[8192];
    if (undo_path(file, path, sizeof path)) unlink(path);
}

#define WATCHED(call) \
    pthread_mutex_lock(&lock); \
    call; \
    int kept = errno; \
    pthread_mutex_unlock(&lock); \
    errno = kept;

ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t offset) {
    static ssize_t (*next)(int, const void *, size_t, off64_t);
    if (!next) next = dlsym(RTLD_NEXT, "pwrite64");
    ssize_t done;
    WATCHED(remember(file, offset, count); done = next(file, bytes, count, offset))
    return done;
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t offset) {
    return pwrite64(file, bytes, count, offset);
}

ssize_t write(int file, const void *bytes, size_t count) {
    static ssize_t (*next)(int, const void *, size_t);
    char path[8192];
    if (!next) next = dlsym(RTLD_NEXT, "write");
    if (!undo_path(file, path, sizeof path)) return next(file, bytes, count);
    ssize_t done;
    WATCHED(remember(file, lseek(file, 0, SEEK_CUR), count); done = next(file, bytes, count))
    return done;
}

int ftruncate64(int file, off64_t size) {
    static int (*next)(int, off64_t);
    if (!next) next = dlsym(RTLD_NEXT, "ftruncate64");
    struct stat now;
    int done;
    WATCHED(
        if (!fstat(file, &now)) remember(file, size, now.st_size > size ? (size_t)(now.st_size - size) : 0);
        done = next(file, size))
    return done;
}

int ftruncate(int file, off_t size) { return ftruncate64(file, size); }

int fsync(int file) {
    static int (*next)(int);
    if (!next) next = dlsym(RTLD_NEXT, "fsync");
    int done;
    WATCHED(done = next(file); if (!done) forget(file))
    return done;
}

int fdatasync(int file) {
    static int (*next)(int);
    if (!next) next = dlsym(RTLD_NEXT, "fdatasync");
    int done;
    WATCHED(done = next(file); if (!done) forget(file))
    return done;
}
