# For scripts that read it: packages for arm64 out of this distribution, by apt with lists
# of its own in a folder, so that dpkg of this system never hears of another architecture.
# Nothing of them is installed.

fail() {
	echo "$1" >&2
	exit 1
}

debian() { command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null; }

# lists FOLDER: fetches the lists. Whatever else is said goes to FOLDER/log.
lists() {
	apt=$1
	mkdir -p "$apt/state/lists/partial" "$apt/cache/archives/partial"
	: >"$apt/status"
	cat >"$apt/conf" <<END
APT::Architecture "arm64";
APT::Architectures {"arm64";};
APT::Install-Recommends "false";
APT::Sandbox::User "$(id -un)";
Dir::State "$apt/state";
Dir::State::status "$apt/status";
Dir::Cache "$apt/cache";
END
	export APT_CONFIG="$apt/conf"
	# A list of something else on this machine that has no arm64 does no harm.
	apt-get update -qq >"$apt/log" 2>&1 || true
}

# closure PACKAGE...: prints the names of the packages and of all that they need.
closure() {
	apt-get install -s "$@" 2>>"$apt/log" | sed -n 's/^Inst \([^ ]*\) .*/\1/p' | grep . ||
		fail "no packages for arm64 are to be had from the sources of this machine: $(tail -1 "$apt/log")"
}

# fetch PACKAGE...: leaves them in the folder of the lists.
fetch() {
	(cd "$apt" && apt-get download -qq "$@" >>log 2>&1) ||
		fail "packages for arm64 cannot be fetched: $(tail -1 "$apt/log")"
}
