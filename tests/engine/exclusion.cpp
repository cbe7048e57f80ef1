// Who has the host: two measurements in one process, each with descriptors of its own.
#include "core/exclusion.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include "core/failure.hpp"
#include "made_folder.hpp"

namespace {

using namespace sonde;

class Folder : public MadeFolder {
public:
    [[nodiscard]] std::string name() const { return path().string(); }
    [[nodiscard]] std::filesystem::path file() const { return path() / "netsonde-measures"; }
};

// Longer than a tick of the clock that stamps files.
void let_time_pass() { std::this_thread::sleep_for(std::chrono::milliseconds(12)); }

} // namespace

TEST_SUITE("exclusion") {
    TEST_CASE("one at a time has the host, and the other is told who") {
        const Folder folder;
        Exclusion first(folder.name());
        Exclusion second(folder.name());
        CHECK(first.claim("first").empty());
        CHECK(second.claim("second") == "first");
        CHECK(first.release().empty());
        CHECK(second.claim("second").empty());
        CHECK(first.claim("first") == "second");
    }

    TEST_CASE("who ends has it no more") {
        const Folder folder;
        auto first = std::make_unique<Exclusion>(folder.name());
        CHECK(first->claim("first").empty());
        first.reset();
        CHECK(Exclusion(folder.name()).claim("second").empty());
    }

    TEST_CASE("one that measures beside another is known to it") {
        const Folder folder;
        Exclusion first(folder.name());
        Exclusion second(folder.name());
        CHECK(first.claim("first").empty());
        let_time_pass();
        second.measure_beside("second");
        SUBCASE("while it does") {}
        SUBCASE("and when it has ended") {
            let_time_pass();
            CHECK(second.release().empty());
        }
        CHECK(first.release() == "second");
    }

    TEST_CASE("one that was beside the holder before is not beside the next") {
        const Folder folder;
        Exclusion first(folder.name());
        Exclusion second(folder.name());
        CHECK(first.claim("first").empty());
        let_time_pass();
        second.measure_beside("second");
        CHECK(second.release().empty());
        CHECK(first.release() == "second");
        let_time_pass();
        CHECK(first.claim("first").empty());
        CHECK(first.release().empty());
    }

    TEST_CASE("one that began beside the last holder is beside the next one too") {
        const Folder folder;
        Exclusion first(folder.name());
        Exclusion second(folder.name());
        Exclusion third(folder.name());
        CHECK(first.claim("first").empty());
        second.measure_beside("second");
        CHECK(first.release() == "second");
        let_time_pass();
        CHECK(third.claim("third").empty());
        CHECK(third.release() == "second");
    }

    TEST_CASE("one that was turned away and goes is not beside the holder") {
        const Folder folder;
        Exclusion first(folder.name());
        CHECK(first.claim("first").empty());
        let_time_pass();
        {
            Exclusion second(folder.name());
            CHECK(second.claim("second") == "first");
            CHECK(second.release().empty());
        }
        CHECK(first.release().empty());
    }

    // File systems stamp with a clock of their own, which can be a tick ahead of every clock to
    // read.
    TEST_CASE("a file that was stamped ahead of the clock is not one who is beside") {
        const Folder folder;
        Exclusion first(folder.name());
        std::filesystem::last_write_time(folder.name() + "/netsonde-measures-beside",
                                         std::filesystem::file_time_type::clock::now() +
                                             std::chrono::seconds(1));
        CHECK(first.claim("first").empty());
        CHECK(first.release().empty());
    }

    TEST_CASE("what others wrote is shown as plain text") {
        const Folder folder;
        Exclusion first(folder.name());
        CHECK(first.claim("first").empty());
        std::ofstream(folder.file()) << "\x1b[31mred\n" << std::string(1000, 'x');
        const std::string holder = Exclusion(folder.name()).claim("second");
        CHECK(holder.substr(0, 9) == " [31mred ");
        CHECK(holder.size() == most_claim_bytes);
    }

    TEST_CASE("a link or a folder in its place is refused") {
        const Folder folder;
        SUBCASE("link") { std::filesystem::create_symlink("/dev/null", folder.file()); }
        SUBCASE("folder") { std::filesystem::create_directory(folder.file()); }
        CHECK_THROWS_AS(Exclusion{folder.name()}, Failure);
    }
}
