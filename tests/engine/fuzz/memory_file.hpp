// A file in memory for what reads and writes descriptors.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <stdexcept>
#include <string>

namespace sonde::fuzz {

class MemoryFile {
public:
    MemoryFile() : fd_(::memfd_create("fuzzed", MFD_CLOEXEC)) {
        if (fd_ < 0) {
            throw std::runtime_error("no file in memory");
        }
    }
    ~MemoryFile() { ::close(fd_); }
    MemoryFile(const MemoryFile&) = delete;
    MemoryFile& operator=(const MemoryFile&) = delete;

    [[nodiscard]] int fd() const noexcept { return fd_; }
    // Holds this and nothing else, and is read and written from its begin.
    void fill(const std::string& text) const {
        if (::ftruncate(fd_, 0) != 0 ||
            ::pwrite(fd_, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()) ||
            ::lseek(fd_, 0, SEEK_SET) != 0) {
            throw std::runtime_error("a file in memory is not written");
        }
    }
    [[nodiscard]] std::string content() const {
        std::string text(static_cast<std::size_t>(::lseek(fd_, 0, SEEK_END)), '\0');
        if (::pread(fd_, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
            throw std::runtime_error("a file in memory is not read");
        }
        return text;
    }

private:
    int fd_;
};

} // namespace sonde::fuzz
