// Messages between two ranks, in every mode: round trips, one way, and exchanges in one call.
#include "collective/messages.hpp"

#include <array>

#include "collective/entry.hpp"
#include "transport/mpi/call.hpp"

namespace sonde::collective {
namespace messages_rows {
namespace {

// Messages each way in one waitsome.
constexpr std::size_t window = 8;

void prepare_message(Context& c) {
    c.count = countable(c.message_bytes);
    c.given = c.own(c.message_bytes);
    c.got = c.blank(c.message_bytes);
}

std::size_t expect_partners(const Context& c, Bytes out) {
    if (!c.has_partners()) {
        return 0;
    }
    c.write_given(c.from, 0, out);
    return out.size();
}

// Receiving in other ways than MPI_Recv from the partner.

int receive_any(Context& c) { return receive_from(c, MPI_ANY_SOURCE); }

int receive_probed(Context& c) {
    MPI_Status found;
    const int status = MPI_Probe(c.from, message_tag, c.communicator, &found);
    return status == MPI_SUCCESS ? receive(c) : status;
}

int receive_matched(Context& c) {
    MPI_Message message = MPI_MESSAGE_NULL;
    const int status = MPI_Mprobe(c.from, message_tag, c.communicator, &message, MPI_STATUS_IGNORE);
    return status == MPI_SUCCESS
               ? MPI_Mrecv(c.got.bytes().data(), c.count, c.datatype, &message, MPI_STATUS_IGNORE)
               : status;
}

int receive_started(Context& c) {
    const int status = start_receive(c);
    return status == MPI_SUCCESS ? wait(c) : status;
}

// Sends that return before the message is gone: the rank that begins receives meanwhile.
template <auto function>
int started_round_trip(Context& c) {
    if (!c.has_partners()) {
        return MPI_SUCCESS;
    }
    const bool begins = c.rank < c.to;
    int status = begins ? MPI_SUCCESS : receive(c);
    if (status == MPI_SUCCESS) {
        status = function(c.given.bytes().data(), c.count, c.datatype, c.to, message_tag,
                          c.communicator, &c.request);
    }
    if (status == MPI_SUCCESS && begins) {
        status = receive(c);
    }
    return status == MPI_SUCCESS ? wait(c) : status;
}

// Ready mode: the receive must be there before the other end sends.
void post_receive(Context& c) {
    if (c.has_partners()) {
        mpi::check(start_receive(c), "begin to receive a message");
    }
}

// Buffered mode. Room for a few messages: MPI need not give back a message's at once.
void prepare_buffered(Context& c) {
    constexpr int room = 4;
    prepare_message(c);
    const std::size_t each_bytes = c.message_bytes + MPI_BSEND_OVERHEAD;
    static_cast<void>(countable(room * each_bytes));
    c.spare = c.blank(room * each_bytes);
}

void open_buffered(Context& c) {
    mpi::check(MPI_Buffer_attach(c.spare.bytes().data(), static_cast<int>(c.spare.bytes().size())),
               "take a buffer");
    c.is_attached = true;
}

// Persistent: requests[0] sends, requests[1] receives.
template <auto make_send>
void open_persistent(Context& c) {
    if (!c.has_partners()) {
        return;
    }
    c.requests.assign(2, MPI_REQUEST_NULL);
    mpi::check(make_send(c.given.bytes().data(), c.count, c.datatype, c.to, message_tag,
                         c.communicator, c.requests.data()),
               "make a persistent send");
    mpi::check(MPI_Recv_init(c.got.bytes().data(), c.count, c.datatype, c.from, message_tag,
                             c.communicator, c.requests.data() + 1),
               "make a persistent receive");
}

void open_persistent_buffered(Context& c) {
    open_buffered(c);
    open_persistent<MPI_Bsend_init>(c);
}

constexpr std::size_t sending = 0;
constexpr std::size_t receiving = 1;

template <std::size_t which>
int start_again(Context& c) {
    return MPI_Start(c.requests.data() + which);
}

template <std::size_t which>
int wait_again(Context& c) {
    return MPI_Wait(c.requests.data() + which, MPI_STATUS_IGNORE);
}

template <std::size_t which>
int restart(Context& c) {
    const int status = start_again<which>(c);
    return status == MPI_SUCCESS ? wait_again<which>(c) : status;
}

void restart_receive(Context& c) {
    if (c.has_partners()) {
        mpi::check(start_again<receiving>(c), "begin to receive a message");
    }
}

int wait_for_both(Context& c) {
    return MPI_Waitall(static_cast<int>(c.requests.size()), c.requests.data(), MPI_STATUSES_IGNORE);
}

// Both partners at the same time.
int restart_both(Context& c) {
    if (!c.has_partners()) {
        return MPI_SUCCESS;
    }
    int status = start_again<receiving>(c);
    if (status == MPI_SUCCESS) {
        status = start_again<sending>(c);
    }
    return status == MPI_SUCCESS ? wait_for_both(c) : status;
}

// The same where the receive has been begun before the start.
template <auto send>
int send_into_ready(Context& c) {
    if (!c.has_partners()) {
        return MPI_SUCCESS;
    }
    const int status = send(c);
    return status == MPI_SUCCESS ? wait(c) : status;
}

int restart_send_into_ready(Context& c) {
    if (!c.has_partners()) {
        return MPI_SUCCESS;
    }
    const int status = start_again<sending>(c);
    return status == MPI_SUCCESS ? wait_for_both(c) : status;
}

// One way: the lower rank of a pair sends in even repetitions, the other one in odd ones.

bool sends_now(const Context& c) {
    return c.has_partners() && (c.rank < c.to) == (c.repetition % 2 == 0);
}

template <auto send>
int one_way(Context& c) {
    if (!c.has_partners()) {
        return MPI_SUCCESS;
    }
    return sends_now(c) ? send(c) : receive(c);
}

std::size_t expect_one_way(const Context& c, Bytes out) {
    return sends_now(c) ? 0 : expect_partners(c, out);
}

std::size_t sends_one_way(const Context& c) { return sends_now(c) ? c.message_bytes : 0; }

// Exchanges.

int exchange(Context& c) {
    return MPI_Sendrecv(c.given.bytes().data(), c.count, c.datatype, c.to, message_tag,
                        c.got.bytes().data(), c.count, c.datatype, c.from, message_tag,
                        c.communicator, MPI_STATUS_IGNORE);
}

int exchange_in_place(Context& c) {
    return MPI_Sendrecv_replace(c.got.bytes().data(), c.count, c.datatype, c.to, message_tag,
                                c.from, message_tag, c.communicator, MPI_STATUS_IGNORE);
}

// A receive and a send that are begun together.
void prepare_both(Context& c) {
    prepare_message(c);
    c.requests.assign(2, MPI_REQUEST_NULL);
}

int begin_both(Context& c) {
    const int status = MPI_Irecv(c.got.bytes().data(), c.count, c.datatype, c.from, message_tag,
                                 c.communicator, c.requests.data() + receiving);
    return status == MPI_SUCCESS
               ? MPI_Isend(c.given.bytes().data(), c.count, c.datatype, c.to, message_tag,
                           c.communicator, c.requests.data() + sending)
               : status;
}

int exchange_started(Context& c) {
    const int status = begin_both(c);
    return status == MPI_SUCCESS ? wait_for_both(c) : status;
}

void write_own(const Context& c, Bytes out) { c.write_given(c.rank, 0, out); }

void prepare_window(Context& c) {
    c.count = countable(c.message_bytes);
    static_cast<void>(countable(window * c.message_bytes));
    c.given = c.own(window * c.message_bytes);
    c.got = c.blank(window * c.message_bytes);
    c.requests.assign(2 * window, MPI_REQUEST_NULL);
}

int start_window(Context& c) {
    for (std::size_t i = 0; i < window; ++i) {
        const int status = MPI_Irecv(c.got.bytes().data() + i * c.message_bytes, c.count, MPI_BYTE,
                                     c.from, message_tag, c.communicator, &c.requests[i]);
        if (status != MPI_SUCCESS) {
            return status;
        }
    }
    for (std::size_t i = 0; i < window; ++i) {
        const int status =
            MPI_Isend(c.given.bytes().data() + i * c.message_bytes, c.count, MPI_BYTE, c.to,
                      message_tag, c.communicator, &c.requests[window + i]);
        if (status != MPI_SUCCESS) {
            return status;
        }
    }
    return MPI_SUCCESS;
}

int wait_for_some(Context& c) {
    int status = start_window(c);
    std::array<int, 2 * window> which{};
    for (int done = 0; status == MPI_SUCCESS && done != MPI_UNDEFINED;) {
        status = MPI_Waitsome(static_cast<int>(c.requests.size()), c.requests.data(), &done,
                              which.data(), MPI_STATUSES_IGNORE);
    }
    return status;
}

std::size_t sends_window(const Context& c) { return window * sends_message(c); }

constexpr Entry between(Partnered partnered, Entry entry) {
    entry.group = Group::message;
    entry.partnered = partnered;
    entry.prepare = entry.prepare == nullptr ? prepare_message : entry.prepare;
    entry.expect = entry.expect == nullptr ? expect_partners : entry.expect;
    entry.sent = entry.sent == nullptr ? sends_message : entry.sent;
    return entry;
}

constexpr Entry there_and_back(Entry entry) { return between(Partnered::matching, entry); }
constexpr Entry at_once(Entry entry) { return between(Partnered::any, entry); }

constexpr Entry by_turns(Entry entry) {
    entry.expect = expect_one_way;
    entry.sent = sends_one_way;
    return there_and_back(entry);
}

constexpr std::array table{
    there_and_back({.name = "send",
                    .call = round_trip<send_by<MPI_Send>, receive>,
                    .head_on = head_on<send_by<MPI_Send>>,
                    .to_one = to_one<send_by<MPI_Send>>}),
    there_and_back({.name = "ssend",
                    .call = round_trip<send_by<MPI_Ssend>, receive>,
                    .head_on = head_on<send_by<MPI_Ssend>>,
                    .to_one = to_one<send_by<MPI_Ssend>>}),
    there_and_back({.name = "bsend",
                    .prepare = prepare_buffered,
                    .call = round_trip<send_by<MPI_Bsend>, receive>,
                    .head_on = head_on<send_by<MPI_Bsend>>,
                    .to_one = to_one<send_by<MPI_Bsend>>,
                    .open = open_buffered}),
    there_and_back({.name = "rsend",
                    .call = round_trip<send_by<MPI_Rsend>, wait>,
                    .head_on = send_into_ready<send_by<MPI_Rsend>>,
                    .ready = post_receive}),
    there_and_back({.name = "isend",
                    .call = started_round_trip<MPI_Isend>,
                    .head_on = head_on<send_started<MPI_Isend>>,
                    .to_one = to_one<send_started<MPI_Isend>>}),
    there_and_back({.name = "issend",
                    .call = started_round_trip<MPI_Issend>,
                    .head_on = head_on<send_started<MPI_Issend>>,
                    .to_one = to_one<send_started<MPI_Issend>>}),
    there_and_back({.name = "irecv",
                    .call = round_trip<send_by<MPI_Send>, receive_started>,
                    .head_on = head_on<send_by<MPI_Send>>}),
    there_and_back({.name = "send_init",
                    .binds = true,
                    .call = round_trip<restart<sending>, restart<receiving>>,
                    .head_on = restart_both,
                    .open = open_persistent<MPI_Send_init>}),
    there_and_back({.name = "ssend_init",
                    .binds = true,
                    .call = round_trip<restart<sending>, restart<receiving>>,
                    .head_on = restart_both,
                    .open = open_persistent<MPI_Ssend_init>}),
    there_and_back({.name = "bsend_init",
                    .binds = true,
                    .prepare = prepare_buffered,
                    .call = round_trip<restart<sending>, restart<receiving>>,
                    .head_on = restart_both,
                    .open = open_persistent_buffered}),
    there_and_back({.name = "rsend_init",
                    .binds = true,
                    .call = round_trip<restart<sending>, wait_again<receiving>>,
                    .head_on = restart_send_into_ready,
                    .open = open_persistent<MPI_Rsend_init>,
                    .ready = restart_receive}),
    there_and_back({.name = "recv_init",
                    .binds = true,
                    .call = round_trip<send_by<MPI_Send>, restart<receiving>>,
                    .open = open_persistent<MPI_Send_init>}),
    there_and_back({.name = "probe", .call = round_trip<send_by<MPI_Send>, receive_probed>}),
    there_and_back({.name = "mprobe", .call = round_trip<send_by<MPI_Send>, receive_matched>}),
    there_and_back({.name = "any_source", .call = round_trip<send_by<MPI_Send>, receive_any>}),
    by_turns({.name = "one_way", .call = one_way<send_by<MPI_Send>>}),
    by_turns({.name = "one_way_isend", .call = one_way<send_started<MPI_Isend>>}),
    at_once({.name = "sendrecv", .call = exchange}),
    at_once({.name = "sendrecv_replace", .call = exchange_in_place, .initial = write_own}),
    at_once({.name = "isend_irecv",
             .prepare = prepare_both,
             .call = exchange_started,
             .begin = begin_both}),
    at_once({.name = "waitsome",
             .prepare = prepare_window,
             .call = wait_for_some,
             .sent = sends_window}),
};

} // namespace
} // namespace messages_rows

int receive_from_all(Context& c) {
    std::size_t received = 0;
    for (int source = 0; source < c.ranks; ++source) {
        if (source == c.root) {
            continue;
        }
        const int status =
            MPI_Irecv(c.got.bytes().data() + received * c.message_bytes, c.count, MPI_BYTE, source,
                      message_tag, c.communicator, c.requests.data() + received);
        if (status != MPI_SUCCESS) {
            return status;
        }
        ++received;
    }
    return MPI_Waitall(static_cast<int>(received), c.requests.data(), MPI_STATUSES_IGNORE);
}

void prepare_to_one(Context& c) {
    const auto others = static_cast<std::size_t>(c.ranks - 1);
    c.got = c.blank(c.may_be_root() ? others * c.message_bytes : 0);
    c.requests.assign(others, MPI_REQUEST_NULL);
}

std::size_t expect_at_root(const Context& c, Bytes out) {
    if (c.rank != c.root) {
        return 0;
    }
    std::size_t place = 0;
    for (int source = 0; source < c.ranks; ++source) {
        if (source != c.root) {
            c.write_given(source, 0, out.subspan(place, c.message_bytes));
            place += c.message_bytes;
        }
    }
    return place;
}

std::size_t sends_to_root(const Context& c) { return c.rank == c.root ? 0 : c.message_bytes; }

std::span<const Entry> messages() { return messages_rows::table; }

} // namespace sonde::collective
