#!/bin/sh
# The first process of the emulated machine: runs the given cases, and copies out the results.
/bin/busybox --install -s /bin
export PATH=/bin:/prog LD_LIBRARY_PATH=/usr/libexec/swift/lib/swift/linux SWIFT_BACKTRACE=enable=no
export CRASHLAB_MODULE=/prog/module.so CRASHLAB_RESOLVER_MODULE=/prog/resolver.so
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mount -t tmpfs -o size=3g tmpfs /tmp
mkdir /tmp/out
cd /tmp/out || exit
echo core > /proc/sys/kernel/core_pattern
uname -srm > system
cp /proc/cpuinfo cpuinfo

# On a loaded host the emulated machine is slow. The handler gets five times its usual time, so that it abandons no section.
patient="--milliseconds 15000"

# Runs every second line of the cases. A line has a number, 1 to also run the case without a handler, 1 for a core file,
# and crash-lab's arguments.
run() {
  count=0
  while read -r number alone core arguments; do
    count=$((count + 1))
    [ $((count % 2)) = "$1" ] || continue
    mkdir -p "$number/alone" "$number/handled" "$number/database"
    if [ "$alone" = 1 ]; then
      # shellcheck disable=SC2086
      (cd "$number/alone" && ulimit -c 0 && exec timeout -s KILL 300 crash-lab $arguments --no-handler > out 2> err < /dev/null)
      echo $? > "$number/alone/end"
    fi
    limit=0
    [ "$core" = 1 ] && limit=unlimited
    # shellcheck disable=SC2086
    (cd "$number/handled" && ulimit -c $limit && exec timeout -s KILL 300 \
      crash-lab $arguments $patient --database "/tmp/out/$number/database" > out 2> err < /dev/null)
    echo $? > "$number/handled/end"
  done < /cases
}
# Runs both halves at once. They form a pipeline, because a background job would ignore SIGQUIT, and
# so would crash-lab.
run 0 | run 1
mkdir -p handler-only/database
printf '1\nboom\n' | HandlerOnly /tmp/out/handler-only/database > handler-only/out 2> handler-only/err
echo $? > handler-only/end
# Each line: a name and crash-lab's arguments.
while read -r name arguments; do
  mkdir -p "scenes/$name"
  # shellcheck disable=SC2086
  (cd "scenes/$name" && exec timeout -s KILL 600 crash-lab $arguments --database "/tmp/out/scenes/$name/database" > out 2> err < /dev/null)
  echo $? > "scenes/$name/end"
  case $name in
    # The test converts the same dump on the host, and compares the reports.
    converted-*)
      cp -a "scenes/$name/database" "scenes/$name/converted"
      crash-lab process --no-symbols --database "/tmp/out/scenes/$name/converted" > "scenes/$name/processed" 2>&1 ;;
  esac
done < /scenes
# Crashes whose system calls the kernel lists, one for each number of threads.
mount -t tracefs tracefs /sys/kernel/tracing
tracing=/sys/kernel/tracing
echo 16384 > $tracing/buffer_size_kb
echo mono > $tracing/trace_clock
echo 1 > $tracing/options/event-fork
echo 1 > $tracing/events/raw_syscalls/sys_enter/enable
echo 1 > $tracing/events/signal/signal_deliver/enable
for count in $(cat /counts); do
  mkdir -p "counted/$count"
  echo > $tracing/trace
  # shellcheck disable=SC2016,SC2086
  (cd "counted/$count" && exec timeout -s KILL 300 sh -c 'echo $$ > "$1"; shift; exec crash-lab "$@"' - $tracing/set_event_pid \
    null-read $patient --threads "$count" --database "/tmp/out/counted/$count/database" > out 2> err < /dev/null)
  cat $tracing/trace > "counted/$count/trace"
done
tar -cf - . > /dev/vport0p1
poweroff -f
