// MPI through its C interface (the MPI-3.1 core only), with errors as Failure.
#pragma once

#include <mpi.h>

#include <array>
#include <string>
#include <string_view>

#include "core/failure.hpp"

namespace sonde::mpi {

// MPICH says a cause and, each in a line, which of its functions said so, the innermost last: of
// those, one that says more than the cause is taken.
[[nodiscard]] inline std::string in_one_sentence(std::string_view text) {
    constexpr std::string_view stack = ", error stack:";
    const std::size_t at = text.find(stack);
    std::string cause(text.substr(0, at));
    if (at == std::string_view::npos) {
        return cause;
    }
    const std::string_view calls = text.substr(at + stack.size());
    const std::size_t end = calls.find_last_not_of(" \n");
    if (end == std::string_view::npos) {
        return cause;
    }
    const std::size_t begin = calls.rfind('\n', end) + 1;
    const std::string_view innermost = calls.substr(begin, end + 1 - begin);
    if (!innermost.ends_with("failed") && innermost.find(cause) == std::string_view::npos) {
        cause.append(" (").append(innermost).append(")");
    }
    return cause;
}

[[nodiscard]] inline Failure failure(int status, std::string_view what) {
    std::array<char, MPI_MAX_ERROR_STRING> text{};
    int length = 0;
    if (MPI_Error_string(status, text.data(), &length) != MPI_SUCCESS) {
        length = 0;
    }
    const std::string_view said(text.data(), static_cast<std::size_t>(length));
    return {"peer_lost", "MPI cannot " + std::string(what) + ": " + in_one_sentence(said)};
}

inline void check(int status, std::string_view what) {
    if (status != MPI_SUCCESS) [[unlikely]] {
        throw failure(status, what);
    }
}

} // namespace sonde::mpi
