// PVM's variables of the environment: those of a machine of the user's own must not reach ours.
#pragma once

#include <string>

namespace sonde::pvm {

// Takes PVM's variables out of this process's environment, but for those that say where it is
// installed, and allows it to root, who owns what is in a lab. Before there is another thread.
void forget_environment();

// From now on the library, and a daemon that is started, have their files there.
void use_folder(const std::string& folder);

// The daemon's program: below PVM_ROOT, or where distributions have it. Sets PVM_ROOT, which it
// wants to know. Throws Failure("unsupported") where this host has none.
[[nodiscard]] std::string find_daemon();

} // namespace sonde::pvm
