#include "tuned/counted.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <sstream>

namespace sonde::tuned {

namespace {

using std::chrono::nanoseconds;

constexpr std::size_t most_kinds = 4096; // of one rank
// A program that is killed leaves what was written last: at the earliest after so long, and so
// seldom that writing takes no more than this share of the time.
constexpr auto first_write = std::chrono::seconds(1);
constexpr int writes_share = 200;

constexpr std::array<std::string_view, form_count> form_names{"blocking", "started", "persistent"};
constexpr std::array<std::string_view, 4> end_names{"running", "finalize", "abort", "exit"};

std::string_view name_of(std::size_t operation) {
    return operation < operation_count ? operation_rows[operation].name
                                       : other_names[operation - operation_count];
}

std::int64_t ns_between(CallCounts::Clock::time_point from, CallCounts::Clock::time_point to) {
    return std::chrono::duration_cast<nanoseconds>(to - from).count();
}

} // namespace

std::size_t HashOfKind::operator()(const CallKind& kind) const noexcept {
    constexpr std::uint64_t spread = 0x9e3779b97f4a7c15U;
    const std::uint64_t flags = (kind.is_root ? 1U : 0U) | (kind.is_in_place ? 2U : 0U) |
                                (kind.has_own_operation ? 4U : 0U) | (kind.has_gaps ? 8U : 0U) |
                                (kind.is_rare ? 16U : 0U);
    std::uint64_t hash = static_cast<std::uint64_t>(kind.bytes);
    for (const std::uint64_t part :
         {static_cast<std::uint64_t>(kind.operation), static_cast<std::uint64_t>(kind.form), flags,
          static_cast<std::uint64_t>(kind.ranks),
          static_cast<std::uint64_t>(kind.ranks_per_host)}) {
        hash = (hash ^ (hash >> 29U)) * spread + part;
    }
    return static_cast<std::size_t>(hash ^ (hash >> 32U));
}

CallCounts::CallCounts(const std::string& folder, int rank, int ranks)
    : path_(folder + "/calls." + std::to_string(rank) + ".json"), process_(::getpid()), rank_(rank),
      ranks_(ranks), begin_(Clock::now()), next_write_(begin_ + first_write) {}

CallCounts::Sum& CallCounts::sum_of(const CallKind& kind) {
    const auto found = sums_.find(kind);
    if (found != sums_.end()) {
        return found->second;
    }
    return sums_.size() < most_kinds ? sums_[kind] : beyond_;
}

void CallCounts::add(const CallKind& kind, Clock::time_point begin,
                     Clock::time_point end) noexcept {
    const std::scoped_lock lock(mutex_);
    if (is_finished_) {
        return;
    }
    Sum* sum = &beyond_;
    try {
        sum = &sum_of(kind);
    } catch (const std::exception&) { // no memory for another kind
    }
    ++sum->calls;
    sum->time_ns += ns_between(begin, end);
    if (end >= next_write_) [[unlikely]] {
        write(End::running, end);
        const auto now = Clock::now();
        next_write_ = now + std::max<Clock::duration>(first_write, (now - end) * writes_share);
    }
}

void CallCounts::finish(End end) noexcept {
    if (::getpid() != process_) {
        return; // a copy of the process that ends is not the rank
    }
    const std::scoped_lock lock(mutex_);
    if (!is_finished_) {
        is_finished_ = true;
        write(end, Clock::now());
    }
}

// In one step: who reads meanwhile has the file of before or this one.
void CallCounts::write(End end, Clock::time_point now) noexcept {
    try {
        const std::string written = path_ + ".part";
        std::ofstream file(written, std::ios::binary | std::ios::trunc);
        file << text(end, now);
        file.close();
        if (!file.fail() && std::rename(written.c_str(), path_.c_str()) == 0) {
            return;
        }
        if (!has_complained_) {
            has_complained_ = true;
            std::cerr << "netsonde: what rank " + std::to_string(rank_) +
                             " calls is not told: cannot write " + path_ + "\n"
                      << std::flush;
        }
    } catch (const std::exception&) { // no memory: the file of before stays
    }
}

std::string CallCounts::text(End end, Clock::time_point now) const {
    std::ostringstream out;
    out << R"({"format":"netsonde calls","version":1,"rank":)" << rank_ << R"(,"ranks":)" << ranks_
        << R"(,"end":")" << end_names[static_cast<std::size_t>(end)] << R"(","elapsed_ns":)"
        << ns_between(begin_, now) << R"(,"beyond":{"calls":)" << beyond_.calls << R"(,"time_ns":)"
        << beyond_.time_ns << "},\"calls\":[";
    const char* between = "\n";
    for (const auto& [kind, sum] : sums_) {
        out << between << R"({"operation":")" << name_of(kind.operation) << R"(","form":")"
            << form_names[static_cast<std::size_t>(kind.form)] << R"(","ranks":)" << kind.ranks
            << R"(,"ranks_per_host":)" << kind.ranks_per_host << R"(,"bytes":)" << kind.bytes
            << R"(,"calls":)" << sum.calls << R"(,"time_ns":)" << sum.time_ns;
        for (const auto& [name, is_so] :
             {std::pair{"root", kind.is_root}, std::pair{"in_place", kind.is_in_place},
              std::pair{"own_operation", kind.has_own_operation}, std::pair{"gaps", kind.has_gaps},
              std::pair{"rare", kind.is_rare}}) {
            if (is_so) {
                out << ",\"" << name << "\":true";
            }
        }
        out << '}';
        between = ",\n";
    }
    out << "\n]}\n";
    return out.str();
}

} // namespace sonde::tuned
