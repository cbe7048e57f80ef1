#include "collective/rank_frames.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <ctime>
#include <vector>

#include "core/failure.hpp"
#include "transport/link/packet_socket.hpp"
#include "transport/mpi/call.hpp"
#include "transport/mpi/job.hpp"

namespace sonde::collective {
namespace {

constexpr std::size_t most_networks = 16; // of a host that are looked at
constexpr int most_hellos = 100;
constexpr std::int64_t between_hellos_ns = 20'000'000;
constexpr timespec between_looks{0, 50'000};

struct Network {
    std::array<std::byte, 16> prefix;
    std::array<std::byte, 16> mask;

    friend bool operator==(const Network&, const Network&) = default;
};

// What a rank tells the others of its end, or why it has none.
struct Card {
    MacAddress address{};
    std::uint16_t first_number = 0;
    std::uint64_t fragment_bytes = 0;
    std::array<char, 32> failed{};
    std::array<char, 512> why{};
};

template <class Value, std::size_t count>
std::vector<Value> gathered(const std::array<Value, count>& own, MPI_Comm communicator, int ranks) {
    std::vector<Value> all(count * static_cast<std::size_t>(ranks));
    const auto bytes = static_cast<int>(sizeof own);
    mpi::check(
        MPI_Allgather(own.data(), bytes, MPI_BYTE, all.data(), bytes, MPI_BYTE, communicator),
        "tell where frames are to go");
    return all;
}

void put(std::span<char> to, std::string_view text) {
    const std::string_view fits = text.substr(0, to.size() - 1);
    std::ranges::copy(fits, to.begin());
}

void refuse_one_host(std::span<const Card> cards) {
    for (std::size_t a = 0; a < cards.size(); ++a) {
        for (std::size_t b = a + 1; b < cards.size(); ++b) {
            if (cards[a].address == cards[b].address) {
                throw Failure("unsupported",
                              "ranks " + std::to_string(a) + " and " + std::to_string(b) +
                                  " are on one host, within which no frames go: schedules over "
                                  "frames take one rank on each host");
            }
        }
    }
}

void refuse_failed(std::span<const Card> cards) {
    for (std::size_t rank = 0; rank < cards.size(); ++rank) {
        if (cards[rank].failed[0] != 0) {
            throw Failure(cards[rank].failed.data(),
                          "rank " + std::to_string(rank) + ": " + cards[rank].why.data());
        }
    }
}

} // namespace

void RankFrames::open(MPI_Comm communicator, const LinkOptions& options) {
    communicator_ = communicator;
    pause_ = LinkPause(options.wait);
    mpi::check(MPI_Comm_rank(communicator, &rank_), "tell the rank");
    mpi::check(MPI_Comm_size(communicator, &ranks_), "tell the number of ranks");
    const std::string interface = common_interface();
    Card own;
    const auto failure = mpi::attempt([&] {
        require_frames();
        const LinkDevice device = LinkDevice::of(interface);
        own.fragment_bytes = fragment_bytes_on(device, options.fragment_bytes);
        numbers_.emplace(static_cast<std::uint16_t>(ranks_));
        port_.emplace(open_port_of(options.driver, device, numbers_->value(), own.fragment_bytes));
        own.address = device.address;
        own.first_number = numbers_->value().first;
    });
    if (failure) {
        put(own.failed, failure->code());
        put(own.why, failure->what());
    }
    const std::vector<Card> cards = gathered(std::array{own}, communicator_, ranks_);
    refuse_failed(cards);
    refuse_one_host(cards);
    std::vector<LinkPartner> partners;
    for (const Card& card : cards) { // each has an endpoint for each rank
        partners.push_back({card.address, static_cast<std::uint16_t>(card.first_number + rank_)});
    }
    const auto least = std::ranges::min(cards, {}, &Card::fragment_bytes).fragment_bytes;
    carrier_.emplace(*port_, partners, *options.reliable, static_cast<std::size_t>(least));
    greet();
}

// The first of rank 0's networks that all others have an address of, too.
std::string RankFrames::common_interface() const {
    const std::vector<LinkNetwork> here = networks_here();
    std::array<Network, most_networks> own{};
    for (std::size_t i = 0; i < std::min(here.size(), own.size()); ++i) {
        own.at(i) = {here[i].prefix, here[i].mask};
    }
    const std::vector<Network> all = gathered(own, communicator_, ranks_);
    for (std::size_t i = 0; i < most_networks && all[i] != Network{}; ++i) {
        bool is_everywhere = true;
        for (std::size_t rank = 1; rank < static_cast<std::size_t>(ranks_); ++rank) {
            const auto theirs = std::span(all).subspan(rank * most_networks, most_networks);
            is_everywhere = is_everywhere && std::ranges::find(theirs, all[i]) != theirs.end();
        }
        if (is_everywhere) {
            const auto at = std::ranges::find(own, all[i]);
            return here[static_cast<std::size_t>(at - own.begin())].interface;
        }
    }
    throw Failure("unsupported",
                  "there is no network beside loopback that all ranks' hosts have an "
                  "address of: frames go by such a one");
}

// In turns of all ranks, so that either all go on or none does.
void RankFrames::greet() {
    std::vector<char> heard(static_cast<std::size_t>(ranks_));
    heard[static_cast<std::size_t>(rank_)] = 1;
    int have_all = 0;
    for (int turn = 0; turn < most_hellos && have_all == 0; ++turn) {
        LinkHeader hello;
        hello.first = hello.last = true;
        for (std::size_t peer = 0; peer < heard.size(); ++peer) {
            if (peer != static_cast<std::size_t>(rank_)) {
                static_cast<void>(port_->send(peer, hello, {}));
            }
        }
        const std::int64_t until_ns = monotonic_ns() + between_hellos_ns;
        bool is_complete = hear_hellos(heard);
        while (!is_complete && monotonic_ns() < until_ns) {
            pollfd one{port_->driver().fd(), POLLIN, 0};
            LinkPause::sleep_until(until_ns, {&one, 1});
            is_complete = hear_hellos(heard);
        }
        const int mine = is_complete ? 1 : 0;
        mpi::check(MPI_Allreduce(&mine, &have_all, 1, MPI_INT, MPI_MIN, communicator_),
                   "agree that frames come");
    }
    if (have_all == 0) {
        const auto first = std::ranges::find(heard, 0);
        const std::string whose =
            first == heard.end() ? "" : " of rank " + std::to_string(first - heard.begin());
        throw Failure("timeout", "no frame" + whose + " came by " + port_->device().name +
                                     ", or none of this rank at another (frames cross no router, "
                                     "and some networks carry none of EtherType 88b5)");
    }
}

bool RankFrames::hear_hellos(std::span<char> heard) {
    while (port_->deliver()) {
    }
    for (std::size_t peer = 0; peer < heard.size(); ++peer) {
        while (const auto segment = port_->next(peer)) {
            heard[peer] = 1;
            port_->release(*segment);
        }
    }
    return std::ranges::find(heard, 0) == heard.end();
}

void RankFrames::step() {
    if (carrier_->work()) {
        pause_.came();
    } else if (pause_.pass(port_->driver().fd(), carrier_->next_timer())) {
        carrier_->attend();
    }
}

// While one waits for the last to be done, it goes on answering those who are not.
void RankFrames::settle() {
    while (!carrier_->done()) {
        step();
    }
    MPI_Request all = MPI_REQUEST_NULL;
    mpi::check(MPI_Ibarrier(communicator_, &all), "wait until nothing is under way");
    for (int is_done = 0; is_done == 0;) {
        if (!carrier_->work()) {
            ::clock_nanosleep(CLOCK_MONOTONIC, 0, &between_looks, nullptr);
        }
        mpi::check(MPI_Test(&all, &is_done, MPI_STATUS_IGNORE), "wait until nothing is under way");
    }
}

std::map<std::string, std::int64_t> RankFrames::counted() const {
    std::map<std::string, std::int64_t> found;
    if (!carrier_) {
        return found;
    }
    const auto add = [&found](const char* name, std::uint64_t count) {
        found[name] += static_cast<std::int64_t>(count);
    };
    for (std::size_t peer = 0; peer < carrier_->size(); ++peer) {
        const ChannelCounts& counts = carrier_->channel(peer).counts();
        add("packets_sent", counts.sent);
        add("packets_resent", counts.resent);
        add("packets_duplicate", counts.duplicate);
        add("packets_out_of_order", counts.out_of_order);
        add("no_room", counts.no_room);
        add("timers", counts.timers);
        add("timers_late_ns", counts.timers_late_ns);
    }
    add("no_room", port_->dropped().no_room);
    return found;
}

} // namespace sonde::collective
