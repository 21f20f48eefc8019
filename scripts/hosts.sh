#!/bin/sh
# Runs a command on the first of three hosts that are namespaces of this machine:
#
#	hosts.sh [--congestion NAME] COMMAND...
#
# The hosts are host0, host1 and host2, joined by a bridge. Each has its own network, IPC, PID, UTS and mount
# namespaces, /dev/shm and /etc/hosts; all other files are this machine's. The hosts have its cores in turn, so that the
# first two have none in common. The command reaches the others by `ssh HOST COMMAND`, which stands first in its PATH, so
# launchers find them without options. --congestion sets TCP's congestion control on the hosts; else they have what this
# machine gives to namespaces.
#
# Nothing is made outside the namespaces, and those end with the command, or with this script, however that ends. The
# processes of host1 and host2 are in namespaces below that of host0, so that they can be entered from there.
set -eu

fail() {
	echo "hosts.sh: $*" >&2
	exit 2
}

# All namespaces of a host but the user's. What runs in them is killed with unshare.
new_host="unshare --net --ipc --pid --uts --mount --mount-proc --fork --kill-child"

cores_of() { # NUMBER
	echo "$HOSTS_CORES" | awk -v host="$1" '{ core[NR - 1] = $1 }
		END { for (i = host % NR; i < NR; i += 3) { printf "%s%d", comma, core[i]; comma = "," } }'
}

# The bridge is in a network namespace of its own, which is open as file 9.
join() { # NUMBER CONGESTION
	taskset -p -c "$(cores_of "$1")" $$ >/dev/null
	echo "host$1" >/proc/sys/kernel/hostname
	mount -t tmpfs -o mode=1777 shm /dev/shm
	mount -t sysfs sys /sys # it shows the devices of the network namespace of who mounts it
	ip link set lo up
	ip link add eth0 type veth peer name "port$1" netns /proc/self/fd/9
	nsenter --net=/proc/self/fd/9 ip link set "port$1" master bridge up
	ip addr add "10.77.0.$((1 + $1))/24" dev eth0
	ip link set eth0 up
	control=/proc/sys/net/ipv4/tcp_congestion_control
	[ -z "$2" ] && return
	echo "$2" 2>/dev/null >$control || true # what it is now says whether that was taken
	[ "$(cat $control)" = "$2" ] || fail "host$1: TCP's congestion control stays $(cat $control), not $2: this" \
		"machine must have it in net.ipv4.tcp_allowed_congestion_control (see sysctl)"
}

# Open MPI wants its remote shell on each host. Processes of host1 and host2 cannot enter another host.
no_shell() {
	mkdir -p /dev/shm/hosts/bin
	printf '#!/bin/sh\necho "ssh: only host0 reaches other hosts" >&2\nexit 255\n' >/dev/shm/hosts/bin/ssh
	chmod +x /dev/shm/hosts/bin/ssh
}

# The host's init, which reaps what loses its parent.
stay() {
	exec >/dev/null 9>&-
	while :; do sleep 3600; done
}

first_host() { # CONGESTION COMMAND...
	congestion=$1
	shift
	join 0 "$congestion"
	mkdir -p /dev/shm/hosts/bin
	cd /dev/shm/hosts
	printf '127.0.0.1 localhost\n10.77.0.1 host0\n10.77.0.2 host1\n10.77.0.3 host2\n' >hosts
	mount --bind hosts /etc/hosts # which the others have from here
	mkfifo ready
	PATH=/dev/shm/hosts/bin:$PATH
	shell="env -i HOME='${HOME:-/root}' PATH='$PATH' sh -c"
	cat >bin/ssh <<-END
		#!/bin/sh
		while [ "\${1#-}" != "\$1" ]; do shift; done # options
		host=\$1 && shift
		case \$host in
		host0) cd / && exec taskset -c $(cores_of 0) $shell "\$*" ;;
	END
	for i in 1 2; do
		$new_host "$script" --host $i "$congestion" >ready &
		read -r _ <ready || fail "host$i cannot be made"
		# unshare has entered them itself, but for that of processes.
		enter="taskset -c $(cores_of $i) nsenter --target $! --net --ipc --uts --mount --pid=/proc/$!/ns/pid_for_children"
		echo "host$i) exec $enter $shell \"\$*\" ;;" >>bin/ssh
	done
	# shellcheck disable=SC2016 # it is a line of the other script
	echo '*) echo "ssh: there is no host $host" >&2; exit 255 ;; esac' >>bin/ssh
	chmod +x bin/ssh
	cd "$here"
	unset HOSTS_CORES
	code=0
	"$@" 9>&- || code=$?
	exit $code
}

script=$(readlink -f "$0")
here=$PWD
case ${1-} in
--bridge) # in the bridge's namespace
	shift
	ip link add name bridge type bridge
	ip link set bridge up
	exec 9</proc/self/ns/net
	exec $new_host "$script" --first "$@"
	;;
--first)
	shift
	first_host "$@"
	;;
--host)
	join "$2" "$3"
	no_shell
	echo ready
	stay
	;;
esac

congestion=
if [ "${1-}" = --congestion ]; then
	congestion=${2-}
	[ -n "$congestion" ] || fail "--congestion: name one, as cubic"
	shift 2
fi
case ${1-} in
-h | --help)
	sed -n '2,/^set/s/^# \{0,1\}//p' "$script"
	exit
	;;
-*) fail "there is no option $1, see --help" ;;
esac
[ $# -gt 0 ] || fail "give a command, which is run on host0"
[ "$(id -u)" = 0 ] || fail "only root may make hosts on this machine"
for tool in ip nsenter unshare setpriv taskset; do
	command -v $tool >/dev/null || fail "please install $tool (Debian: apt-get install iproute2 util-linux)"
done
HOSTS_CORES=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status | tr , '\n' |
	while IFS=- read -r from to; do seq "$from" "${to:-$from}"; done)
export HOSTS_CORES
code=0
setpriv --pdeathsig KILL unshare --net "$script" --bridge "$congestion" "$@" || code=$?
exit $code
