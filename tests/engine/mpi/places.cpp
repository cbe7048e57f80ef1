// Which CPU a rank gets, what a process does, and what a witness says: without MPI.
#include "transport/mpi/places.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <ctime>
#include <string>

#include "transport/mpi/witness.hpp"

namespace {

using namespace sonde::mpi;

void pause_ms(long ms) {
    const timespec pause{ms / 1000, ms % 1000 * 1'000'000};
    ::nanosleep(&pause, nullptr);
}

// A child that waits for a signal.
class Child {
public:
    Child() : process_(::fork()) {
        if (process_ == 0) {
            while (true) {
                ::pause();
            }
        }
    }
    ~Child() {
        ::kill(process_, SIGKILL);
        ::waitpid(process_, nullptr, 0);
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    [[nodiscard]] pid_t process() const { return process_; }
    // What is said of it, once it is said or after a second.
    [[nodiscard]] std::string after(int signal) const {
        ::kill(process_, signal);
        for (int i = 0; i < 1000; ++i) {
            if (const auto why = why_motionless(process_)) {
                return *why;
            }
            pause_ms(1);
        }
        return "";
    }

private:
    pid_t process_;
};

// Standard error of what runs in another process, until it and all it started have ended.
template <class Act>
std::string said_by(Act act) {
    std::array<int, 2> ends{};
    REQUIRE(::pipe(ends.data()) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
        ::dup2(ends[1], STDERR_FILENO);
        ::close(ends[0]);
        ::close(ends[1]);
        act();
        ::_exit(0);
    }
    ::close(ends[1]);
    std::string said;
    std::array<char, 512> piece{};
    for (ssize_t got = 0; (got = ::read(ends[0], piece.data(), piece.size())) > 0;) {
        said.append(piece.data(), static_cast<std::size_t>(got));
    }
    ::close(ends[0]);
    ::waitpid(child, nullptr, 0);
    return said;
}

} // namespace

TEST_SUITE("places") {
    TEST_CASE("ranks get the allowed CPUs one after the other") {
        const std::vector<int> allowed{2, 3, 7};
        const PinRequest asked{Pin::all, false, {}};
        CHECK(choose_processor(allowed, 0, 3, asked) == 2);
        CHECK(choose_processor(allowed, 2, 3, asked) == 7);
        CHECK_FALSE(choose_processor(allowed, 0, 4, asked));
        CHECK(choose_processor(allowed, 3, 4, {Pin::all, true, {}}) == 2);
        CHECK_FALSE(choose_processor({}, 0, 1, {Pin::not_zero, true, {}}));
    }

    TEST_CASE("processes that do not move are told from those that wait") {
        CHECK_FALSE(why_motionless(::getpid()));
        const Child child;
        pause_ms(20);
        CHECK_FALSE(why_motionless(child.process())); // it waits for a signal
        CHECK(child.after(SIGSTOP) == "is stopped");
        pid_t gone = 0;
        {
            const Child other;
            gone = other.process();
            CHECK(other.after(SIGKILL) == "has ended");
        }
        CHECK(why_motionless(gone) == "is gone");
    }

    TEST_CASE("a witness speaks of a rank that is killed, and of none that ends") {
        const std::string said = said_by([] {
            const Witness witness;
            witness.name("rank 3 on alpha");
            ::kill(::getpid(), SIGKILL);
        });
        CHECK(said.starts_with("sonde-mpi: rank 3 on alpha was lost: process "));
        CHECK(said.find(" was killed by signal 9\n") != std::string::npos);
        const std::string ended = said_by([] {
            const Witness witness;
            witness.name("rank 3 on alpha");
            ::_exit(5);
        });
        CHECK(ended.find(" ended with status 5\n") != std::string::npos);
        CHECK(said_by([] {
                  const Witness witness;
                  witness.name("rank 3 on alpha");
              }).empty());
    }
}
