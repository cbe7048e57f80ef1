// Records on their way to rank 0: written like any other record, to a file in memory.
#pragma once

#include <cstddef>
#include <string>

namespace sonde::mpi {

// Longest piece; records are lines of at most this many bytes.
constexpr std::size_t spool_piece_bytes = std::size_t{1} << 20U;

class Spool {
public:
    Spool();
    ~Spool();
    Spool(const Spool&) = delete;
    Spool& operator=(const Spool&) = delete;

    [[nodiscard]] int fd() const noexcept { return fd_; } // for a RecordWriter
    void clear() const;
    // The whole lines that begin at offset, spool_piece_bytes at most; empty at the end.
    [[nodiscard]] std::string piece(std::size_t offset) const;

private:
    int fd_;
};

} // namespace sonde::mpi
