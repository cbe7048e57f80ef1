// Files of shared memory that killed programs left, in a folder of the test's own.
#include "transport/mpi/leftovers.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "core/descriptor.hpp"
#include "made_folder.hpp"

namespace {

using namespace sonde;

class Folder {
public:
    [[nodiscard]] std::string path() const { return folder_.path().string(); }
    // Of 4096 bytes, last changed so long ago.
    [[nodiscard]] Descriptor make(const std::string& name, std::chrono::seconds age) const {
        Descriptor file(::open((path() + "/" + name).c_str(), O_RDWR | O_CREAT | O_EXCL, 0600));
        REQUIRE(::ftruncate(file.get(), 4096) == 0);
        timespec when{::time(nullptr) - age.count(), 0};
        const timespec times[2] = {when, when};
        REQUIRE(::futimens(file.get(), times) == 0);
        return file;
    }
    [[nodiscard]] std::vector<std::string> names() const {
        std::vector<std::string> found;
        for (const auto& entry : std::filesystem::directory_iterator(path())) {
            found.push_back(entry.path().filename());
        }
        std::sort(found.begin(), found.end());
        return found;
    }

private:
    MadeFolder folder_{"/dev/shm"};
};

constexpr std::chrono::seconds minute{60};

} // namespace

TEST_SUITE("leftovers") {
    TEST_CASE("what is old and nobody's goes") {
        const Folder folder;
        for (const char* name : {"mpich_shm_0a_0", "vader_segment.h1.0.b1.0", "sm_segment.h1.1"}) {
            (void)folder.make(name, 2 * minute);
        }
        (void)folder.make("mpich_shm_young_0", minute / 2);
        (void)folder.make("somebody_elses", 2 * minute);
        mpi::remove_leftovers(folder.path(), minute);
        CHECK(folder.names() == std::vector<std::string>{"mpich_shm_young_0", "somebody_elses"});
    }

    TEST_CASE("what a process has mapped stays") {
        const Folder folder;
        const Descriptor file = folder.make("mpich_shm_0a_0", 2 * minute);
        void* memory = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, file.get(), 0);
        REQUIRE(memory != MAP_FAILED);
        CHECK(mpi::mapped_files(folder.path()) ==
              std::vector<std::string>{folder.path() + "/mpich_shm_0a_0"});
        mpi::remove_leftovers(folder.path(), minute);
        CHECK(folder.names().size() == 1);
        ::munmap(memory, 4096);
        mpi::remove_leftovers(folder.path(), minute);
        CHECK(folder.names().empty());
    }

    TEST_CASE("a folder that is not there is none of ours") {
        mpi::remove_leftovers("/dev/shm/nothing-of-that-name", minute);
        CHECK(mpi::mapped_files("/dev/shm/nothing-of-that-name").empty());
    }
}
