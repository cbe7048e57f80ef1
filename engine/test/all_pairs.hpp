// All pairs: each end asks its partners one after the other, and meanwhile answers whoever asks it.
// A question and its answer are messages of one size; the clock of who asks times both.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/clock.hpp"
#include "core/payload.hpp"
#include "core/samples.hpp"
#include "test/result.hpp"
#include "test/round_trip.hpp"
#include "test/run_parameters.hpp"
#include "transport/transport.hpp"

namespace sonde {

// Who asks whom; an end may be its own partner.
using AskedPair = std::array<int, 2>;

template <MeshTransport Path>
class AllPairsEnd {
public:
    AllPairsEnd(const RunParameters& run, std::span<const AskedPair> pairs, int own)
        : run_(run), out_(run.message_bytes, run.seed), in_(run.message_bytes, run.seed),
          question_(run.message_bytes, run.seed) {
        for (const auto& [from, to] : pairs) {
            if (from == own) {
                partners_.push_back(to);
            }
            expected_ += to == own ? run.count : 0;
        }
        round_trips_ = Samples(partners_.size() * run.count);
    }

    template <class Clock>
    void play(Path& path) {
        listen(path);
        for (const int partner : partners_) {
            for (std::uint64_t left = run_.count; left != 0; --left) {
                if (run_.check_data) {
                    forget_content(in_.bytes());
                }
                const std::uint64_t begin = Clock::now();
                path.ask(partner, out_.bytes(), in_.bytes());
                while (answered_other(path)) {
                }
                round_trips_.push(Clock::now() - begin);
                if (run_.check_data && !content_is_right(in_.bytes(), run_.seed)) {
                    ++corrupt_;
                }
            }
        }
        while (answered_ < expected_) {
            answered_other(path);
        }
    }

    void report(Result& result, const Timebase& timebase) const {
        if (!partners_.empty()) {
            result.series.push_back({"round_trip_ns", "ns", durations_ns(round_trips_, timebase)});
        }
        const std::uint64_t messages = round_trips_.size() + answered_;
        result.count("messages_sent", messages);
        result.count("bytes_sent", messages * run_.message_bytes);
        result.count("messages_received", messages);
        result.count("bytes_received", messages * run_.message_bytes);
        if (run_.check_data) {
            result.count("corrupt", corrupt_);
        }
    }

private:
    void listen(Path& path) {
        if (answered_ < expected_) {
            if (run_.check_data) {
                forget_content(question_.bytes());
            }
            path.listen(question_.bytes());
        }
    }

    // Waits for what comes next. True where that was a question, which is answered then.
    bool answered_other(Path& path) {
        const std::optional<int> from = path.await();
        if (!from) {
            return false;
        }
        path.answer(*from, question_.bytes());
        if (run_.check_data && !content_is_right(question_.bytes(), run_.seed)) {
            ++corrupt_;
        }
        ++answered_;
        listen(path);
        return true;
    }

    RunParameters run_;
    Payload out_;
    Payload in_;
    Payload question_;
    std::vector<int> partners_;
    Samples round_trips_{0};
    std::uint64_t expected_ = 0;
    std::uint64_t answered_ = 0;
    std::uint64_t corrupt_ = 0;
};

} // namespace sonde
