// What a transport over libfabric takes from requests, and what it knows of other ends' memory.
// Nothing here needs the library.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <string>

#include "core/failure.hpp"
#include "core/request.hpp"
#include "transport/libfabric/last_resort.hpp"
#include "transport/libfabric/leftovers.hpp"
#include "transport/libfabric/options.hpp"

using namespace sonde;
using nlohmann::json;

TEST_SUITE_BEGIN("libfabric");

namespace {

FabricOptions read(const json& options) {
    Fields fields(json{{"options", options}});
    return read_fabric_options(fields);
}

std::string refusal(const json& options) {
    try {
        (void)read(options);
    } catch (const Failure& failure) {
        return failure.code() + ": " + failure.what();
    }
    return "";
}

// A process of ours that has ended, and that somebody has waited for.
int ended_process() {
    const int process = ::fork();
    if (process == 0) {
        ::_exit(0);
    }
    REQUIRE(::waitpid(process, nullptr, 0) == process);
    return process;
}

void make_memory(const std::string& name) {
    const int fd = ::shm_open(name.c_str(), O_CREAT | O_RDWR, 0600);
    REQUIRE(fd >= 0);
    ::close(fd);
}

} // namespace

TEST_CASE("what is not asked for is as usual") {
    const FabricOptions options = read(json::object());
    CHECK(!options.provider);
    CHECK(options.endpoint == EndpointKind::rdm);
    CHECK(options.operation == FabricOperation::send);
    CHECK(options.parts == 1);
    CHECK(options.at_target);
    CHECK(!options.fresh);
    CHECK(!options.spin);
    CHECK(!is_one_sided(options));
}

TEST_CASE("one end alone acts in reads, additions, and writes that are complete at it") {
    CHECK(is_one_sided(read({{"operation", "read"}})));
    CHECK(is_one_sided(read({{"operation", "atomic"}})));
    CHECK(is_one_sided(read({{"operation", "write"}, {"completion", "origin"}})));
    CHECK(!is_one_sided(read({{"operation", "write"}})));
}

TEST_CASE("what does not go together is refused by its name") {
    CHECK(refusal({{"provider", "TCP!"}}).find("provider is no name") != std::string::npos);
    CHECK(refusal({{"wait", "ready"}}).find("expected one of block, spin") != std::string::npos);
    CHECK(refusal({{"endpoint", "dgram"}, {"segmented", true}}).find("dgram") != std::string::npos);
    CHECK(refusal({{"operation", "read"}, {"inject", true}}).find("inject") != std::string::npos);
    CHECK(refusal({{"trespass", "foreign-read"}}).find("needs an operation") != std::string::npos);
    CHECK(refusal({{"parts", 17}}).find("parts") != std::string::npos);
}

TEST_CASE("memory of a process that is gone is removed, of one that lives it is not") {
    const std::string gone = std::to_string(ended_process()) + ":0:0";
    const std::string alive = std::to_string(::getpid()) + ":0:99";
    for (const std::string& name : {gone, alive}) {
        make_memory(name);
        CHECK(may_be_here("fi_shm://" + name));
        remove_shared_memory_of("fi_shm://" + name);
    }
    CHECK(!may_be_here("fi_shm://" + gone));
    CHECK(may_be_here("fi_shm://" + alive));
    ::shm_unlink(alive.c_str());
}

TEST_CASE("who never comes back from a provider ends, and leaves no memory") {
    const std::string other = std::to_string(ended_process()) + ":0:0";
    make_memory(other);
    const std::string own = std::to_string(::getpid()) + ":0:98";
    make_memory(own);
    const int process = ::fork();
    if (process == 0) {
        LastResort resort;
        resort.arm("fi_shm://" + own, "fi_shm://" + other, std::chrono::milliseconds(20));
        while (true) {
            ::pause();
        }
    }
    int status = 0;
    REQUIRE(::waitpid(process, &status, 0) == process);
    CHECK(WIFEXITED(status));
    CHECK(!may_be_here("fi_shm://" + own));
    CHECK(!may_be_here("fi_shm://" + other));
}

TEST_CASE("who comes back in time goes on") {
    LastResort resort;
    resort.arm("fi_shm://1:0:0", "", std::chrono::hours(1));
}

TEST_CASE("names of another form are of no memory") {
    for (const char* name : {"fi_shm://../etc/passwd", "fi_sockaddr_in://192.0.2.1:5", ""}) {
        CHECK(may_be_here(name));
        remove_shared_memory_of(name);
    }
}

TEST_SUITE_END();
