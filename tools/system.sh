# Sourced by the other scripts: installing Debian packages where that is allowed.

# Prints the command that may install here ("apt-get" or "sudo -n apt-get"); fails where there is none.
apt_command() {
    command -v apt-get >/dev/null 2>&1 || return 1
    if [ "$(id -u)" = 0 ]; then
        echo "apt-get"
    elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
        echo "sudo -n apt-get"
    else
        return 1
    fi
}

# apt_install NAME...: installs, quietly; fails when it may not or cannot. What apt says goes to stderr.
apt_install() {
    apt=$(apt_command) || return 1
    echo "installing from the distribution: $*" >&2
    DEBIAN_FRONTEND=noninteractive $apt -o Dpkg::Use-Pty=0 -qq update >&2 &&
        DEBIAN_FRONTEND=noninteractive $apt -o Dpkg::Use-Pty=0 -qq install -y "$@" >/dev/null 2>&1
}
