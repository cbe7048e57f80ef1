// MPI through its C interface (the MPI-3.1 core only), with errors as Failure.
#pragma once

#include <mpi.h>

#include <array>
#include <string>
#include <string_view>

#include "core/failure.hpp"

namespace sonde::mpi {

[[nodiscard]] inline Failure failure(int status, std::string_view what) {
    std::array<char, MPI_MAX_ERROR_STRING> text{};
    int length = 0;
    if (MPI_Error_string(status, text.data(), &length) != MPI_SUCCESS) {
        length = 0;
    }
    return {"peer_lost", "MPI cannot " + std::string(what) + ": " +
                             std::string(text.data(), static_cast<std::size_t>(length))};
}

inline void check(int status, std::string_view what) {
    if (status != MPI_SUCCESS) [[unlikely]] {
        throw failure(status, what);
    }
}

} // namespace sonde::mpi
