/* One system call of a process fails: the n-th of those that concern files in one folder.
 *
 * Preloaded into a process, which says with `fail_call` which call is to fail, and how. The others are carried out.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

enum { NO_WAY, ERROR, NO_SPACE, SHORT, CUT, ERROR_AND_END };

static char folder[4096];
static int failing = -1, how;
static int calls; /* so far; changed atomically, for checkpoints have a thread of their own */

void fail_call(const char *in_folder, int number, int way) {
    snprintf(folder, sizeof folder, "%s", in_folder);
    failing = number, how = way, calls = 0;
}

int calls_made(void) { return calls; }

static int watched(const char *path) { return folder[0] && path && !strncmp(path, folder, strlen(folder)); }

static int watched_file(int file) {
    char link[64], name[4096];
    if (!folder[0]) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, name, sizeof name - 1);
    if (length <= 0) return 0;
    name[length] = 0;
    return watched(name);
}

/* Count a call, and return how it fails; 0 if it does not. A process that is cut ends before the call, or after half of it. */
static int fate(void) {
    if (__atomic_fetch_add(&calls, 1, __ATOMIC_SEQ_CST) != failing) return NO_WAY;
    return how;
}

#define NEXT(name, ...) \
    static int (*next)(__VA_ARGS__); \
    if (!next) next = dlsym(RTLD_NEXT, name)
#define FAIL_WITH(way, result) \
    if (way == CUT) _exit(137); \
    if (way == ERROR || way == SHORT || way == ERROR_AND_END) { errno = EIO; return result; } \
    if (way == NO_SPACE) { errno = ENOSPC; return result; }

#define READ_OR_WRITE(name, kind, bytes_type, parameters, whole, half) \
    ssize_t name parameters { \
        static ssize_t (*next) parameters; \
        if (!next) next = dlsym(RTLD_NEXT, #name); \
        if (!watched_file(file)) return whole; \
        int way = fate(); \
        if (way == NO_WAY) return whole; \
        if (way == SHORT || (way == CUT && kind)) { \
            ssize_t done = half; \
            if (way == CUT) _exit(137); \
            return done; \
        } \
        FAIL_WITH(way, -1) \
        return -1; \
    }

READ_OR_WRITE(pwrite64, 1, const void *, (int file, const void *bytes, size_t count, off64_t at), next(file, bytes, count, at),
              next(file, bytes, count / 2, at))
READ_OR_WRITE(pwrite, 1, const void *, (int file, const void *bytes, size_t count, off_t at), next(file, bytes, count, at),
              next(file, bytes, count / 2, at))
READ_OR_WRITE(write, 1, const void *, (int file, const void *bytes, size_t count), next(file, bytes, count), next(file, bytes, count / 2))
READ_OR_WRITE(pread64, 0, void *, (int file, void *bytes, size_t count, off64_t at), next(file, bytes, count, at),
              next(file, bytes, count / 2, at))
READ_OR_WRITE(pread, 0, void *, (int file, void *bytes, size_t count, off_t at), next(file, bytes, count, at),
              next(file, bytes, count / 2, at))
READ_OR_WRITE(read, 0, void *, (int file, void *bytes, size_t count), next(file, bytes, count), next(file, bytes, count / 2))

#define ON_FILE(name, parameters, arguments) \
    int name parameters { \
        NEXT(#name, int, ...); \
        if (watched_file(file)) { int way = fate(); FAIL_WITH(way, -1) } \
        return ((int (*) parameters)next) arguments; \
    }
ON_FILE(fsync, (int file), (file))
ON_FILE(fdatasync, (int file), (file))
ON_FILE(ftruncate, (int file, off_t size), (file, size))
ON_FILE(ftruncate64, (int file, off64_t size), (file, size))
ON_FILE(fchmod, (int file, mode_t mode), (file, mode))

#define ON_PATH(name, parameters, arguments) \
    int name parameters { \
        NEXT(#name, const char *, ...); \
        if (watched(path)) { int way = fate(); FAIL_WITH(way, -1) } \
        return ((int (*) parameters)next) arguments; \
    }
ON_PATH(unlink, (const char *path), (path))
ON_PATH(rename, (const char *path, const char *to), (path, to))
ON_PATH(mkdir, (const char *path, mode_t mode), (path, mode))
ON_PATH(access, (const char *path, int mode), (path, mode))

#define OPENS(name) \
    int name(const char *path, int flags, ...) { \
        static int (*next)(const char *, int, ...); \
        if (!next) next = dlsym(RTLD_NEXT, #name); \
        va_list more; \
        va_start(more, flags); \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0; \
        va_end(more); \
        if (watched(path)) { int way = fate(); FAIL_WITH(way, -1) } \
        return next(path, flags, mode); \
    }
OPENS(open)
OPENS(open64)
