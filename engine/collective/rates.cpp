// Many messages at once between the ranks of every pair: how many of them go in a second (as
// osu_mbw_mr of the OSU Micro-Benchmarks counts them). Every message has a place of its own, so
// that every one can be checked.
#include <array>

#include "collective/entry.hpp"
#include "collective/messages.hpp"

namespace sonde::collective {
namespace rates_rows {
namespace {

constexpr int usual_window = 64;
constexpr int answer_tag = 2;

std::size_t window(const Context& c) {
    return static_cast<std::size_t>(c.choices.window == 0 ? usual_window : c.choices.window);
}

bool sends(const Context& c) { return c.has_partners() && c.rank < c.to; }

bool receives(const Context& c) { return c.has_partners() && c.rank > c.to; }

void prepare_both_ways(Context& c) {
    c.count = countable(c.message_bytes);
    c.given = c.own(window(c) * c.message_bytes);
    c.got = c.blank(window(c) * c.message_bytes);
    c.requests.assign(2 * window(c), MPI_REQUEST_NULL);
}

void prepare_one_way(Context& c) {
    c.count = countable(c.message_bytes);
    c.given = c.own(sends(c) ? window(c) * c.message_bytes : 0);
    c.got = c.blank(receives(c) ? window(c) * c.message_bytes : 0);
    c.requests.assign(window(c), MPI_REQUEST_NULL);
}

int start_receives(Context& c, MPI_Request* requests) {
    int status = MPI_SUCCESS;
    for (std::size_t i = 0; i < window(c) && status == MPI_SUCCESS; ++i) {
        status = MPI_Irecv(c.got.bytes().data() + i * c.message_bytes, c.count, MPI_BYTE, c.from,
                           message_tag, c.communicator, requests + i);
    }
    return status;
}

int start_sends(Context& c, MPI_Request* requests) {
    int status = MPI_SUCCESS;
    for (std::size_t i = 0; i < window(c) && status == MPI_SUCCESS; ++i) {
        status = MPI_Isend(c.given.bytes().data() + i * c.message_bytes, c.count, MPI_BYTE, c.to,
                           message_tag, c.communicator, requests + i);
    }
    return status;
}

int wait_for_all(Context& c) {
    return MPI_Waitall(static_cast<int>(c.requests.size()), c.requests.data(), MPI_STATUSES_IGNORE);
}

// The lower rank of a pair sends; the other one answers, without content, when all are there.
int one_way(Context& c) {
    if (!c.has_partners()) {
        return MPI_SUCCESS;
    }
    int status =
        sends(c) ? start_sends(c, c.requests.data()) : start_receives(c, c.requests.data());
    if (status == MPI_SUCCESS) {
        status = wait_for_all(c);
    }
    if (status != MPI_SUCCESS) {
        return status;
    }
    return sends(c) ? MPI_Recv(nullptr, 0, MPI_BYTE, c.from, answer_tag, c.communicator,
                               MPI_STATUS_IGNORE)
                    : MPI_Send(nullptr, 0, MPI_BYTE, c.to, answer_tag, c.communicator);
}

int start_both_ways(Context& c) {
    const int status = start_receives(c, c.requests.data());
    return status == MPI_SUCCESS ? start_sends(c, c.requests.data() + window(c)) : status;
}

int both_ways(Context& c) {
    if (!c.has_partners()) {
        return MPI_SUCCESS;
    }
    const int status = start_both_ways(c);
    return status == MPI_SUCCESS ? wait_for_all(c) : status;
}

std::size_t expect_one_way(const Context& c, Bytes out) {
    if (!receives(c)) {
        return 0;
    }
    c.write_given(c.from, 0, out);
    return out.size();
}

std::size_t expect_both_ways(const Context& c, Bytes out) {
    if (!c.has_partners()) {
        return 0;
    }
    c.write_given(c.from, 0, out);
    return out.size();
}

std::size_t messages_one_way(const Context& c) { return sends(c) ? window(c) : 0; }

std::size_t messages_both_ways(const Context& c) { return c.has_partners() ? window(c) : 0; }

template <auto messages>
std::size_t sends_messages(const Context& c) {
    return messages(c) * c.message_bytes;
}

constexpr std::array table{
    Entry{.name = "message_rate",
          .group = Group::rate,
          .partnered = Partnered::matching,
          .windowed = true,
          .prepare = prepare_one_way,
          .call = one_way,
          .expect = expect_one_way,
          .sent = sends_messages<messages_one_way>,
          .messages = messages_one_way},
    Entry{.name = "message_rate_both",
          .group = Group::rate,
          .partnered = Partnered::any,
          .windowed = true,
          .prepare = prepare_both_ways,
          .call = both_ways,
          .expect = expect_both_ways,
          .sent = sends_messages<messages_both_ways>,
          .messages = messages_both_ways},
};

} // namespace
} // namespace rates_rows

std::span<const Entry> rates() { return rates_rows::table; }

} // namespace sonde::collective
