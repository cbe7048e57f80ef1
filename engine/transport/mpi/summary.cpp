#include "transport/mpi/summary.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

namespace sonde::mpi {

namespace {

constexpr const char* variable = "MPIR_CVAR_DEBUG_SUMMARY";
constexpr std::string_view of_libfabric = "\nlibfabric provider: ";
constexpr std::string_view of_ucx = "UCX netmod";
constexpr std::size_t most_summary_bytes = 65'536;
constexpr std::size_t longest_provider = 64;

// What libraries below MPI say meanwhile, as UCX of variables that it does not know: whoever reads
// standard output listens for it.
void pass_on_logs(std::string_view text) {
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
        if (text.front() == '[') {
            std::fwrite(text.data(), 1, end, stdout);
        }
        text.remove_prefix(end);
    }
    std::fflush(stdout);
}

} // namespace

NetworkPart network_part_in(std::string_view summary) {
    const std::string text = "\n" + std::string(summary);
    if (const std::size_t place = text.find(of_libfabric); place != std::string::npos) {
        const std::string_view rest = std::string_view(text).substr(place + of_libfabric.size());
        const std::string_view name = rest.substr(0, rest.find_first_of(" \n"));
        return {"ofi", std::string(name.substr(0, longest_provider))};
    }
    return text.find(of_ucx) != std::string::npos ? NetworkPart{"ucx", ""} : NetworkPart{};
}

SummaryAsked::SummaryAsked()
    : memory_(::memfd_create("summary", MFD_CLOEXEC)), output_(::dup(STDOUT_FILENO)) {
    std::fflush(stdout);
    if (memory_ && output_ && ::dup2(memory_.get(), STDOUT_FILENO) >= 0) {
        asked_ = std::getenv(variable) == nullptr && ::setenv(variable, "1", 0) == 0;
    } else {
        output_ = Descriptor();
    }
}

SummaryAsked::~SummaryAsked() { give_back(); }

std::string SummaryAsked::text() {
    give_back();
    std::string found;
    std::array<char, 4096> piece{};
    ssize_t got = memory_ ? ::lseek(memory_.get(), 0, SEEK_SET) : -1;
    while (got >= 0 && found.size() < most_summary_bytes) {
        got = ::read(memory_.get(), piece.data(), piece.size());
        if (got <= 0) {
            break;
        }
        found.append(piece.data(), static_cast<std::size_t>(got));
    }
    pass_on_logs(found);
    return found;
}

void SummaryAsked::give_back() noexcept {
    if (output_) {
        std::fflush(stdout);
        ::dup2(output_.get(), STDOUT_FILENO);
        output_ = Descriptor();
    }
    if (asked_) {
        ::unsetenv(variable);
        asked_ = false;
    }
}

} // namespace sonde::mpi
