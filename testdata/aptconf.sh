# apt_conf DIR prints settings with which apt keeps its lists, its packages and what is installed
# in DIR, and reads DIR/sources.list alone: the machine's stay as they are.
apt_conf() {
	cat <<-END
		Dir::State "$1/state";
		Dir::State::status "$1/status";
		Dir::Cache "$1";
		Dir::Etc::sourcelist "$1/sources.list";
		Dir::Etc::sourceparts "$1/parts";
		Dir::Etc::preferencesparts "$1/parts";
		APT::Sandbox::User "root";
		Acquire::Languages "none";
	END
}
