// Many to one by ns-3: SENDERS hosts send PACKETS packets each to one more host, over links of
// 100 Mbit/s and one store-and-forward switch with unlimited output queues.
//
//     simulator_ns3 SENDERS PACKETS
//
// Writes the simulated ns until the last packet arrived, the packets that arrived, and the packets
// that were put on lines. Only ns-3's core, queues and point-to-point devices take part: no IP, no
// UDP, no addresses. That is the least with which ns-3 plays single packets.
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <vector>

#include <ns3/core-module.h>
#include <ns3/network-module.h>
#include <ns3/point-to-point-module.h>

namespace {

// A full Ethernet frame takes 1538 bytes of its line, with preamble and gap; PPP's header is 2.
constexpr std::uint32_t packet_bytes = 1536;
constexpr std::uint32_t ring_packets = 64;

struct Counts {
    std::uint64_t arrived = 0;
    std::uint64_t hops = 0;
    ns3::Time last;
};

// Keeps its device's queue full until all was sent. The next packet is handed over when one begins
// to leave: the device is busy then, so that it only queues it.
class Sender {
public:
    Sender(ns3::Ptr<ns3::PointToPointNetDevice> device, std::uint32_t packets, Counts& counts)
        : device_(device), left_(packets), counts_(counts) {
        device_->TraceConnectWithoutContext("PhyTxBegin",
                                            ns3::MakeCallback(&Sender::OnBegin, this));
        ns3::Simulator::Schedule(ns3::Time(0), &Sender::Start, this);
    }

private:
    void Start() {
        for (std::uint32_t i = 0; i < ring_packets; ++i) {
            SendOne();
        }
    }
    void OnBegin(ns3::Ptr<const ns3::Packet> /*packet*/) {
        ++counts_.hops;
        SendOne();
    }
    void SendOne() {
        if (left_ > 0) {
            --left_;
            device_->Send(ns3::Create<ns3::Packet>(packet_bytes), device_->GetBroadcast(), 0x0800);
        }
    }

    ns3::Ptr<ns3::PointToPointNetDevice> device_;
    std::uint32_t left_;
    Counts& counts_;
};

struct Port {
    ns3::Ptr<ns3::PointToPointNetDevice> host;
    ns3::Ptr<ns3::PointToPointNetDevice> at_switch;
};

Port Connect(ns3::Ptr<ns3::Node> host, ns3::Ptr<ns3::Node> middle) {
    ns3::PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", ns3::StringValue("100Mbps"));
    link.SetDeviceAttribute("Mtu", ns3::UintegerValue(packet_bytes));
    link.SetQueue("ns3::DropTailQueue", "MaxSize", ns3::StringValue("4294967295p"));
    const ns3::NetDeviceContainer ends = link.Install(host, middle);
    return {ns3::DynamicCast<ns3::PointToPointNetDevice>(ends.Get(0)),
            ns3::DynamicCast<ns3::PointToPointNetDevice>(ends.Get(1))};
}

} // namespace

int main(int argc, char** argv) {
    const auto senders = static_cast<std::uint32_t>(argc == 3 ? std::atol(argv[1]) : 0);
    const auto packets = static_cast<std::uint32_t>(argc == 3 ? std::atol(argv[2]) : 0);
    if (senders == 0 || packets == 0) {
        std::cerr << "give the number of senders and of packets of each\n";
        return 2;
    }
    ns3::NodeContainer hosts(senders + 1);
    const ns3::Ptr<ns3::Node> middle = ns3::CreateObject<ns3::Node>();
    std::vector<Port> ports;
    for (std::uint32_t host = 0; host <= senders; ++host) {
        ports.push_back(Connect(hosts.Get(host), middle));
    }
    Counts counts;
    const auto forward = [out = ports[0].at_switch, &counts](
                             ns3::Ptr<ns3::NetDevice>, ns3::Ptr<const ns3::Packet> packet,
                             std::uint16_t protocol, const ns3::Address&) {
        ++counts.hops;
        return out->Send(packet->Copy(), out->GetBroadcast(), protocol);
    };
    const auto arrive = [&counts](ns3::Ptr<ns3::NetDevice>, ns3::Ptr<const ns3::Packet>,
                                  std::uint16_t, const ns3::Address&) {
        ++counts.arrived;
        counts.last = ns3::Simulator::Now();
        return true;
    };
    using Receive = ns3::NetDevice::ReceiveCallback;
    ports[0].host->SetReceiveCallback(Receive(arrive));
    std::vector<Sender> sending;
    sending.reserve(senders); // a sender keeps its place: its device calls it there
    for (std::uint32_t host = 1; host <= senders; ++host) {
        ports[host].at_switch->SetReceiveCallback(Receive(forward));
        sending.emplace_back(ports[host].host, packets, counts);
    }
    ns3::Simulator::Run();
    std::cout << counts.last.GetNanoSeconds() << ' ' << counts.arrived << ' ' << counts.hops
              << '\n';
    ns3::Simulator::Destroy();
    return 0;
}
