// MPI through its C interface (the MPI-3.1 core only), with errors as Failure.
#pragma once

#include <mpi.h>

#include <array>
#include <string>
#include <string_view>

#include "core/failure.hpp"

namespace sonde::mpi {

// MPICH says a cause and, each in a line, which of its functions said so, the innermost last: of
// those, one that says more than the cause is taken, and none that MPI's own limit has cut off.
[[nodiscard]] inline std::string in_one_sentence(std::string_view text) {
    constexpr std::string_view stack = ", error stack:";
    const std::size_t at = text.find(stack);
    std::string cause(text.substr(0, at));
    if (at == std::string_view::npos) {
        return cause;
    }
    std::string_view calls = text.substr(at + stack.size());
    std::string_view innermost; // "function(line): what", if it is whole
    while (!calls.empty() && innermost.find("): ") == std::string_view::npos) {
        const std::size_t end = calls.rfind('\n');
        innermost = end == std::string_view::npos ? calls : calls.substr(end + 1);
        calls = end == std::string_view::npos ? std::string_view() : calls.substr(0, end);
    }
    const bool says_more = innermost.find("): ") != std::string_view::npos &&
                           !innermost.ends_with("failed") &&
                           innermost.find(cause) == std::string_view::npos;
    if (says_more) {
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
