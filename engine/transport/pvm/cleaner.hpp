// A process that ends a daemon of PVM, and removes its files, where the worker that started it is
// killed and cannot.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "core/descriptor.hpp"

namespace sonde::pvm {

// Removes a folder and the files in it; what is not there is no harm. PVM's has no folders.
void remove_folder(const std::string& folder) noexcept;

// Folders of daemons begin with this, in the folder for temporary files.
constexpr std::string_view folder_begin = "netsonde-pvm-";
// Where the kernel ended worker and cleaner in one go, as with a lab's or a container's end, nobody
// has removed the folder: this does, of folders that nobody holds. One is held by hold_folder().
void remove_leftovers(const std::string& temporary);
[[nodiscard]] Descriptor hold_folder(const std::string& folder);

class Cleaner {
public:
    // Call it before there is another thread. Where none can be made, everything else works.
    Cleaner();
    // What was to be cleaned up is: sends it away.
    ~Cleaner();
    Cleaner(const Cleaner&) = delete;
    Cleaner& operator=(const Cleaner&) = delete;

    void removes(const std::string& folder) const;
    void ends(pid_t daemon) const;

private:
    void tell(const std::string& line) const;

    Descriptor told_; // the other end notices when this process is gone
};

} // namespace sonde::pvm
