// A process that ends a daemon of PVM, and removes its files, where the worker that started it is
// killed and cannot.
#pragma once

#include <sys/types.h>

#include <string>

#include "core/descriptor.hpp"

namespace sonde::pvm {

// Removes a folder and the files in it; what is not there is no harm. PVM's has no folders.
void remove_folder(const std::string& folder) noexcept;

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
