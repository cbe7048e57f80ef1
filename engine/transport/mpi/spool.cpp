#include "transport/mpi/spool.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include "core/failure.hpp"

namespace sonde::mpi {

Spool::Spool() : fd_(::memfd_create("sonde-mpi records", MFD_CLOEXEC)) {
    if (fd_ < 0) {
        throw system_failure("make a file in memory");
    }
}

Spool::~Spool() { ::close(fd_); }

void Spool::clear() const {
    if (::ftruncate(fd_, 0) != 0 || ::lseek(fd_, 0, SEEK_SET) != 0) {
        throw system_failure("empty a file in memory");
    }
}

std::string Spool::piece(std::size_t offset) const {
    std::string text(spool_piece_bytes, '\0');
    const ssize_t got = ::pread(fd_, text.data(), text.size(), static_cast<off_t>(offset));
    if (got < 0) {
        throw system_failure("read a file in memory");
    }
    text.resize(static_cast<std::size_t>(got));
    const std::size_t last_end = text.rfind('\n');
    if (last_end == std::string::npos && !text.empty()) {
        throw Failure("limit",
                      "a record is longer than " + std::to_string(spool_piece_bytes) + " bytes");
    }
    text.resize(text.empty() ? 0 : last_end + 1);
    return text;
}

} // namespace sonde::mpi
