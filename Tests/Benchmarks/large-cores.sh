#!/bin/sh
# Measures time and peak memory of `postmortem show`, gdb and LLDB on large core files: a sparse one, whose program
# touched little of its memory, and a full one.
#
# usage: Tests/Benchmarks/large-cores.sh POSTMORTEM DIRECTORY [GIB]
#
# Needs cc, gdb, lldb-19 (or the program in the variable LLDB), GNU time, a core_pattern without a path, and GIB of free
# space in DIRECTORY. Deletes the core files. Each line has the figures of the second of two runs.
set -eu
postmortem=$1
directory=$2/large-cores.$$
gib=${3:-10}
mkdir "$directory"
cd "$directory"
trap 'rm -rf "$directory"' EXIT

cat > program.c << 'END'
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static void *wait_forever(void *argument) { for (;;) pause(); return argument; }
static __attribute__((noinline)) int fail(int depth) { if (depth == 0) abort(); return fail(depth - 1) + 1; }
int main(int count, char **arguments) {
  size_t size = strtoull(arguments[1], 0, 10) << 30, step = count > 2 ? 8 : 64 << 20;
  unsigned long *memory = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return 1;
  for (size_t offset = 0; offset < size; offset += step) memory[offset / 8] = offset * 0x9E3779B97F4A7C15 + 1;
  for (int i = 0; i < 16; i++) { pthread_t thread; pthread_create(&thread, 0, wait_forever, 0); }
  return fail(20);
}
END
cc -g -O1 -fno-optimize-sibling-calls -pthread -o program program.c
ulimit -c unlimited

# Runs a command twice, and prints GNU time's measurements of the second run.
measure() {
  name=$1
  shift
  for run in 1 2; do
    /usr/bin/time -o time -f '%e s  %U s CPU  %M KiB' "$@" > output 2>&1 || { cat output; exit 1; }
  done
  grep -q fail output || { echo "no stack by $name"; cat output; exit 1; }
  printf '%-22s %s\n' "$name" "$(tail -n 1 time)"
}

for kind in sparse full; do
  rm -f core*
  if [ $kind = full ]; then full=full; else full=; fi
  ./program "$gib" $full > program.output 2>&1 || true
  set -- core*
  echo "$kind: $(stat -c %s "$1") bytes, $(du -k "$1" | cut -f 1) KiB on disk"
  measure 'postmortem show' "$postmortem" show --no-cache "./$1"
  measure 'gdb bt' gdb -batch -nx -ex bt ./program "$1"
  measure 'gdb bt, all threads' gdb -batch -nx -ex 'thread apply all bt' ./program "$1"
  measure 'LLDB bt' "${LLDB:-lldb-19}" --batch --no-lldbinit -o bt -c "$1" ./program
  measure 'LLDB bt all' "${LLDB:-lldb-19}" --batch --no-lldbinit -o 'bt all' -c "$1" ./program
  if [ $kind = sparse ]; then
    measure 'postmortem, by a pipe' sh -c "cat '$1' | '$postmortem' show --no-cache --spool . -"
  fi
done
