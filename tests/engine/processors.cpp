// Which CPUs belong together: folders as the kernel has them.
#include "core/processors.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "made_folder.hpp"

namespace {

using namespace sonde;

// A folder that is gone with it.
class Folder : public MadeFolder {
public:
    [[nodiscard]] std::string name() const { return path().string() + '/'; }
    void write(const std::string& file, const std::string& text) const {
        std::filesystem::create_directories((path() / file).parent_path());
        std::ofstream(path() / file) << text << '\n';
    }
};

} // namespace

TEST_SUITE("processors") {
    TEST_CASE("lists as the kernel writes them") {
        CHECK(read_processors("0-2,8").size() == 4);
        CHECK(read_processors("5") == std::vector{5});
        for (const char* text : {"", "x", "3-1", "1,,2", "1-", "0-99999999999"}) {
            CHECK(read_processors(text).empty());
        }
    }

    TEST_CASE("packages by the number that each CPU names") {
        const Folder folder;
        for (const int processor : {0, 1, 2, 3, 8}) {
            folder.write("cpu" + std::to_string(processor) + "/topology/physical_package_id",
                         processor == 2 || processor == 3 ? "1" : "0");
        }
        folder.write("cpu9/online", "0"); // taken offline, it has no topology
        folder.write("cpufreq/policy", "none");
        CHECK(in_words(packages(folder.name())) == "0:0-1,8 1:2-3");
        CHECK(packages(folder.name() + "nowhere/").empty());
    }

    TEST_CASE("NUMA nodes have lists; one with memory only has no CPUs") {
        const Folder folder;
        folder.write("node0/cpulist", "0-3");
        folder.write("node1/cpulist", "4-7,12");
        folder.write("node2/cpulist", "");
        CHECK(in_words(numa_nodes(folder.name())) == "0:0-3 1:4-7,12");
    }
}
