#include "transport/mpi/job.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <type_traits>

#include "core/clock.hpp"
#include "core/request.hpp"
#include "transport/mpi/call.hpp"

namespace sonde::mpi {
namespace {

enum Tag : int { tag_order = 1, tag_report, tag_verdict, tag_turn, tag_piece };

// A failure on its way between ranks: fixed size, so that nothing has to be parsed.
struct Verdict {
    int rank = -1; // -1: no failure
    std::array<char, 32> code{};
    std::array<char, 960> message{};
};
static_assert(std::is_trivially_copyable_v<Verdict>);

template <std::size_t Size>
void put(std::array<char, Size>& field, std::string_view text) {
    const std::size_t length = std::min(text.size(), Size - 1);
    std::memcpy(field.data(), text.data(), length);
    field[length] = '\0';
}

[[nodiscard]] std::span<const char> as_chars(const Verdict& verdict) {
    return {reinterpret_cast<const char*>(&verdict), sizeof verdict};
}

[[nodiscard]] Verdict to_verdict(std::string_view content) {
    Verdict verdict;
    if (content.size() != sizeof verdict) {
        throw Failure("peer_lost", "another rank sent something unexpected; are all ranks of one "
                                   "version of sonde-mpi?");
    }
    std::memcpy(&verdict, content.data(), sizeof verdict);
    verdict.code.back() = '\0';
    verdict.message.back() = '\0';
    return verdict;
}

// Sleeps that grow from nothing: a message that is about to come is met at once, and a rank that
// waits for minutes costs about a thousandth of a core.
class Patience {
public:
    void wait() {
        constexpr int tries_without_sleep = 100;
        constexpr std::int64_t longest_ns = 2'000'000;
        if (tries_ < tries_without_sleep) {
            ++tries_;
            return;
        }
        const timespec pause{0, sleep_ns_};
        ::nanosleep(&pause, nullptr);
        sleep_ns_ = std::min(2 * sleep_ns_, longest_ns);
    }

private:
    int tries_ = 0;
    std::int64_t sleep_ns_ = 20'000;
};

[[nodiscard]] std::string this_host() {
    std::array<char, 256> name{};
    if (::gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') {
        return "unknown";
    }
    return name.data();
}

} // namespace

Job::Job(int& argc, char**& argv, bool multiple)
    : asked_for_multiple_(multiple), launcher_pid_(::getppid()), host_(this_host()) {
    int provided = 0;
    const std::int64_t begin_ns = monotonic_ns();
    // The guard is a second thread that never calls MPI.
    const int asked = multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED;
    SummaryAsked summary;
    check(MPI_Init_thread(&argc, &argv, asked, &provided), "start");
    const std::int64_t mine_ns = monotonic_ns() - begin_ns;
    const NetworkPart said = network_part_in(summary.text());
    check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "set its error handler");
    check(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "tell the rank");
    check(MPI_Comm_size(MPI_COMM_WORLD, &ranks_), "tell the number of ranks");
    for (MPI_Comm* communicator : {&team_, &control_, &measured_}) {
        check(MPI_Comm_dup(MPI_COMM_WORLD, communicator), "make a communicator");
    }
    check(MPI_Allreduce(&mine_ns, &init_ns_, 1, MPI_INT64_T, MPI_MAX, team_), "agree on a time");
    // The levels are numbers that rise with what they allow.
    check(MPI_Allreduce(&provided, &thread_level_, 1, MPI_INT, MPI_MIN, team_),
          "agree on what threads may do");
    network_ = of_rank_0(said);
}

// Rank 0 alone is told.
NetworkPart Job::of_rank_0(const NetworkPart& said) const {
    std::array<std::array<char, 96>, 2> words{};
    put(words[0], said.name);
    put(words[1], said.provider);
    check(MPI_Bcast(words.data(), sizeof words, MPI_BYTE, 0, team_), "tell its network");
    return {words[0].data(), words[1].data()};
}

Job::~Job() {
    for (MPI_Comm* communicator : {&team_, &control_, &measured_}) {
        MPI_Comm_free(communicator);
    }
    MPI_Finalize();
}

void Job::send(std::span<const char> content, int to, int tag) const {
    check(MPI_Send(content.data(), static_cast<int>(content.size()), MPI_BYTE, to, tag, team_),
          "send to rank " + std::to_string(to));
}

std::string Job::receive(int from, int tag, std::size_t most_bytes) const {
    Patience patience;
    int there = 0;
    MPI_Status status;
    while (true) {
        check(MPI_Iprobe(from, tag, team_, &there, &status), "look for a message");
        if (there != 0) {
            break;
        }
        if (::getppid() != launcher_pid_) {
            throw Failure("peer_lost", "the process that started this rank is gone");
        }
        patience.wait();
    }
    int length = 0;
    check(MPI_Get_count(&status, MPI_BYTE, &length), "tell a message's length");
    if (length < 0 || static_cast<std::size_t>(length) > most_bytes) {
        throw Failure("limit", "rank " + std::to_string(from) + " sent " + std::to_string(length) +
                                   " bytes, expected at most " + std::to_string(most_bytes));
    }
    std::string content(static_cast<std::size_t>(length), '\0');
    check(MPI_Recv(content.data(), length, MPI_BYTE, from, tag, team_, MPI_STATUS_IGNORE),
          "receive from rank " + std::to_string(from));
    return content;
}

void Job::send_to_children(std::span<const char> content, int tag) const {
    for (int child = 2 * rank_ + 1; child <= 2 * rank_ + 2 && child < ranks_; ++child) {
        send(content, child, tag);
    }
}

void Job::tell(std::string_view text) const { send_to_children(text, tag_order); }

std::string Job::listen() const {
    std::string text = receive(parent(), tag_order, request_line_limit_bytes);
    send_to_children(text, tag_order);
    return text;
}

std::optional<Failure> Job::agree(const std::optional<Failure>& mine) const {
    Verdict verdict;
    if (mine) {
        verdict.rank = rank_;
        put(verdict.code, mine->code());
        put(verdict.message,
            rank_ == 0 ? std::string(mine->what())
                       : "rank " + std::to_string(rank_) + " on " + host_ + ": " + mine->what());
    }
    for (int child = 2 * rank_ + 1; child <= 2 * rank_ + 2 && child < ranks_; ++child) {
        const Verdict theirs = to_verdict(receive(child, tag_report, sizeof verdict));
        if (theirs.rank >= 0 && (verdict.rank < 0 || theirs.rank < verdict.rank)) {
            verdict = theirs;
        }
    }
    if (rank_ != 0) {
        send(as_chars(verdict), parent(), tag_report);
        verdict = to_verdict(receive(parent(), tag_verdict, sizeof verdict));
    }
    send_to_children(as_chars(verdict), tag_verdict);
    if (verdict.rank < 0) {
        return std::nullopt;
    }
    return Failure(verdict.code.data(), verdict.message.data());
}

void Job::collect(const Spool& mine, std::span<const int> others,
                  const std::function<void(std::string_view)>& write) const {
    std::size_t offset = 0;
    for (auto piece = mine.piece(0); !piece.empty(); piece = mine.piece(offset)) {
        write(piece);
        offset += piece.size();
    }
    for (const int source : others) {
        // One rank at a time: what has not been asked for would fill rank 0's memory.
        constexpr char turn = 0;
        send({&turn, 1}, source, tag_turn);
        while (true) {
            const std::string piece = receive(source, tag_piece, spool_piece_bytes);
            if (piece.empty()) {
                break;
            }
            write(piece);
        }
    }
}

void Job::deliver(const Spool& mine) const {
    [[maybe_unused]] const std::string turn = receive(0, tag_turn, 1);
    std::size_t offset = 0;
    while (true) {
        const std::string piece = mine.piece(offset);
        send(piece, 0, tag_piece);
        if (piece.empty()) {
            return; // an empty piece says that it was the last
        }
        offset += piece.size();
    }
}

std::optional<Failure> attempt(const std::function<void()>& work) {
    try {
        work();
    } catch (const Failure& failure) {
        return failure;
    } catch (const std::bad_alloc&) {
        return Failure("no_memory", "not enough memory for this request");
    }
    return std::nullopt;
}

} // namespace sonde::mpi
