// Counters of fabric ports, from a tree of files as the kernel's /sys has it.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "counters/infiniband.hpp"
#include "counters/snapshot.hpp"
#include "made_folder.hpp"

using namespace sonde;
namespace fs = std::filesystem;

namespace {

// A /sys of its own, gone with it.
class FakeSys {
public:
    [[nodiscard]] const fs::path& root() const { return folder_.path(); }

    // In a port's folder: "counters/port_xmit_data" and the like.
    void write(const std::string& device, const std::string& port, const std::string& file,
               const std::string& text) const {
        const fs::path path = root() / "class" / "infiniband" / device / "ports" / port / file;
        fs::create_directories(path.parent_path());
        std::ofstream(path) << text;
    }

private:
    sonde::MadeFolder folder_;
};

} // namespace

TEST_SUITE_BEGIN("infiniband");

TEST_CASE("every port's counters, data in bytes") {
    const FakeSys sys;
    sys.write("mlx5_0", "1", "counters/port_xmit_data", "1000\n");
    sys.write("mlx5_0", "1", "counters/port_rcv_data", "25\n");
    sys.write("mlx5_0", "1", "counters/port_xmit_packets", "7\n");
    sys.write("mlx5_0", "1", "counters/port_xmit_discards", "3\n");
    sys.write("mlx5_0", "1", "counters/symbol_error", "65535\n");
    sys.write("mlx5_0", "1", "hw_counters/out_of_sequence", "11\n");
    sys.write("mlx5_0", "1", "counters/of_a_later_kernel", "1\n");
    sys.write("hfi1_0", "2", "counters/port_rcv_data", "5\n");
    CounterValues values;
    add_infiniband(sys.root(), values);
    CHECK(values == CounterValues{{"infiniband.mlx5_0.1.tx_bytes", 4000},
                                  {"infiniband.mlx5_0.1.rx_bytes", 100},
                                  {"infiniband.mlx5_0.1.tx_packets", 7},
                                  {"infiniband.mlx5_0.1.port_xmit_discards", 3},
                                  {"infiniband.mlx5_0.1.symbol_error", 65535},
                                  {"infiniband.mlx5_0.1.out_of_sequence", 11},
                                  {"infiniband.hfi1_0.2.rx_bytes", 20}});
}

TEST_CASE("what a port does not say is left out") {
    const FakeSys sys;
    sys.write("mlx4_0", "1", "counters/port_xmit_data", "N/A (no PMA)\n");
    sys.write("mlx4_0", "1", "counters/port_rcv_data", "");
    sys.write("mlx4_0", "1", "counters/link_downed", "12x\n");
    sys.write("mlx 4 1", "1", "counters/link_downed", "1\n"); // no name of a device
    fs::create_directories(sys.root() / "class/infiniband/mlx4_2/ports/1/counters/symbol_error");
    CounterValues values;
    add_infiniband(sys.root(), values);
    CHECK(values.empty());
}

TEST_CASE("a host without such ports adds nothing") {
    const FakeSys sys;
    CounterValues values;
    add_infiniband(sys.root(), values);
    add_infiniband(sys.root() / "missing", values);
    CHECK(values.empty());
}

TEST_CASE("ports are read up to a bound") {
    const FakeSys sys;
    for (int port = 0; port < 50; ++port) {
        sys.write("a", std::to_string(port), "counters/link_downed", "1\n");
        sys.write("b", std::to_string(port), "counters/link_downed", "1\n");
    }
    CounterValues values;
    add_infiniband(sys.root(), values);
    CHECK(values.size() == 64);
}

TEST_CASE("they are part of a snapshot of the system, and of no other") {
    const FakeSys sys;
    sys.write("mlx5_0", "1", "counters/port_rcv_data", "5\n");
    CounterSources sources;
    sources.sysfs = sys.root().string();
    CHECK(take_snapshot({}, sources).values.at("infiniband.mlx5_0.1.rx_bytes") == 20);
    sources.system = false;
    CHECK(!take_snapshot({}, sources).values.contains("infiniband.mlx5_0.1.rx_bytes"));
}

TEST_SUITE_END();
