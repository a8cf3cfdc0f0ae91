#!/bin/bash
# Starts a program as a container or a unit does, crashes it, changes its volume as its host does, and starts it again.
#
# Runs as root in mount and network namespaces of its own. DeploymentFilesTests takes the variables from the files of
# Examples/Deployment:
#   WORK            a directory for this script
#   PROGRAMS        a directory with `server` and `postmortem`, the contents of /usr/local/bin
#   USER_ID, GROUP_ID, GROUPS_OF   of the processes
#   READ_ONLY       1 if the root file system is read-only
#   DROPPED         1 if processes have no capabilities and cannot gain any
#   MOUNT           the path at which the volume is mounted
#   PREPARE         a command that makes the contents of the volume, whose path is $VOLUME
#   BETWEEN         a command that changes them before each start
#   COMMAND         the command, one word a line
#   BESIDE          another command, which runs next to it; empty for none
#   CONVERT         the words of `postmortem` that convert at the end; empty for none
#   VARIABLES       variables of the environment, one a line
#   DATABASE        the database, as the commands name it
set -u
mapfile -t command <<< "$COMMAND"
mapfile -t beside <<< "$BESIDE"
mapfile -t variables <<< "$VARIABLES"
fail() { echo "container.sh: $1" >&2; cat "$WORK"/*.log >&2; exit 90; }

ip link set lo up || fail "no loopback device"
root=$WORK/root
export VOLUME=$WORK/volume
mkdir "$root" "$VOLUME" && mount -t tmpfs -o mode=0755 none "$root" || fail "no root"
for entry in /*; do
  if [ -L "$entry" ]; then cp -a "$entry" "$root$entry"
  elif [ -d "$entry" ]; then
    # Only what a program needs: neither this machine's homes nor its temporary files.
    case $entry in
    /usr|/bin|/lib*|/sbin|/etc|/opt|/dev|/sys) mkdir "$root$entry"; mount --rbind "$entry" "$root$entry" || fail "$entry" ;;
    *) mkdir "$root$entry" ;;
    esac
  fi
done
mount --bind "$PROGRAMS" "$root/usr/local/bin" || fail "no programs"
# A volume has its own file system.
mount -t tmpfs -o mode=0755,size=512m none "$VOLUME" || fail "no volume"
mkdir -p "$root$MOUNT"
eval "$PREPARE" || fail "PREPARE"
mount --bind "$VOLUME" "$root$MOUNT" || fail "no mount"
if [ "$READ_ONLY" = 1 ]; then
  for entry in "$root"/*; do
    case $entry in
    "$root/dev"|"$root/sys") ;;
    *) if mountpoint -q "$entry" && [ "$entry" != "$root$MOUNT" ]; then mount -o remount,bind,ro "$entry" || fail "$entry"; fi ;;
    esac
  done
  mount -o remount,bind,ro "$root/usr/local/bin" && mount -o remount,ro "$root" || fail "not read-only"
fi

# Runs a command as a container: its own PID namespace, user, groups and root.
contained() {
  local rights=(--reuid="$USER_ID" --regid="$GROUP_ID" --groups="$GROUPS_OF")
  [ "$DROPPED" = 1 ] && rights+=(--no-new-privs --bounding-set=-all --inh-caps=-all)
  exec unshare --pid --fork --kill-child --mount /bin/bash -c '
    mount -t proc proc "$0/proc" && exec chroot "$0" /usr/bin/setpriv "$@"' "$root" "${rights[@]}" \
    /usr/bin/env -i PATH=/usr/local/bin:/usr/bin:/bin SWIFT_BACKTRACE=enable=no "${variables[@]}" "$@"
}
reports() { (contained postmortem list -d "$DATABASE" --json) 2> "$WORK/list.log" | grep -c '"state" : "report"'; }

if [ "$READ_ONLY" = 1 ] && (contained /bin/sh -c ': > /usr/local/bin/x || : > /x') 2> /dev/null; then
  fail "its root can be written to"
fi
for turn in 1 2 3; do
  eval "$BETWEEN" || fail "BETWEEN"
  log=$WORK/server-$turn.log
  (contained "${command[@]}") > "$log" 2>&1 &
  server=$!
  watcher=
  if [ -n "$BESIDE" ]; then
    (contained "${beside[@]}") > "$WORK/beside-$turn.log" 2>&1 &
    watcher=$!
  fi
  port=
  for wait in $(seq 300); do
    port=$(sed -n 's/.*listening on 127.0.0.1:\([0-9]*\).*/\1/p' "$log" | head -1)
    [ -n "$port" ] && break
    kill -0 $server 2> /dev/null || fail "turn $turn: the server did not start"
    sleep 0.1
  done
  grep -q 'no crash reports' "$log" && fail "turn $turn: no handler"
  exec 3<> "/dev/tcp/127.0.0.1/$port" || fail "turn $turn: no connection"
  printf 'GET /crash/null HTTP/1.1\r\nHost: x\r\n\r\n' >&3
  wait $server
  echo "turn $turn: the server ended with $?"
  exec 3>&-
  if [ -n "$watcher" ]; then
    for wait in $(seq 300); do [ "$(reports)" = "$turn" ] && break; sleep 0.1; done
    # unshare ignores SIGTERM; its child is the container.
    kill "$(cat /proc/$watcher/task/$watcher/children)"
    wait $watcher
    # The report is there before the next start converts anything.
    echo "turn $turn: $(reports) reports"
  fi
done
if [ -n "$CONVERT" ]; then
  eval "$BETWEEN"
  (contained postmortem $CONVERT) > "$WORK/convert.log" 2>&1 || fail "the last dump was not converted"
fi
echo "at the end: $(reports) reports"
