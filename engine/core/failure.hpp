// Errors inside the engine are exceptions; at the seam they become one `error` record.
#pragma once

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace sonde {

class Failure : public std::runtime_error {
public:
    // code: one of the error codes of schema/record.schema.json.
    Failure(std::string code, const std::string& message)
        : std::runtime_error(message), code_(std::move(code)) {}

    [[nodiscard]] const std::string& code() const noexcept { return code_; }

private:
    std::string code_;
};

// A failed system call, said with what was being done: "cannot WHAT: REASON".
[[nodiscard]] inline Failure system_failure(std::string_view what, int error = errno) {
    return {"system", "cannot " + std::string(what) + ": " + std::strerror(error)};
}

} // namespace sonde
