#include "transport/libfabric/endpoint.hpp"

#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "core/clock.hpp"
#include "core/failure.hpp"
#include "transport/libfabric/leftovers.hpp"
#include "transport/libfabric/words.hpp"

namespace sonde {
namespace {

constexpr std::size_t completions_least = 1024; // completions that a queue holds
constexpr useconds_t look_again_us = 200;
constexpr std::chrono::milliseconds most_time_to_leave{1500}; // before who started it kills it
constexpr std::int64_t greet_again_ns = 100'000'000;
constexpr std::uint64_t access = FI_SEND | FI_RECV | FI_READ | FI_WRITE;

std::string text_of(const FabricCard& card) {
    return card.address_format == FI_ADDR_STR
               ? std::string(reinterpret_cast<const char*>(card.name.data()), card.name_bytes)
               : std::string{};
}

std::uint64_t wanted_capabilities(const FabricOptions& options) {
    switch (options.operation) {
    case FabricOperation::send:
        return FI_MSG;
    case FabricOperation::write:
    case FabricOperation::read:
        return FI_MSG | FI_RMA;
    case FabricOperation::atomic:
        break;
    }
    return FI_MSG | FI_ATOMIC;
}

fi_ep_type type_of(EndpointKind kind) {
    switch (kind) {
    case EndpointKind::msg:
        return FI_EP_MSG;
    case EndpointKind::rdm:
        return FI_EP_RDM;
    case EndpointKind::dgram:
        break;
    }
    return FI_EP_DGRAM;
}

} // namespace

FabricEndpoint::FabricEndpoint(const FabricOptions& options, FabricRole role,
                               const std::string& own_address, const MeetingPoint& meeting,
                               const Deadline& deadline)
    : options_(options), info_(choose(own_address)),
      most_post_bytes_(
          std::min(info_->ep_attr->max_msg_size, options.most_post_bytes.value_or(SIZE_MAX))) {
    open_domain();
    if (options.endpoint != EndpointKind::msg) {
        meet(meeting, deadline);
    } else if (role == FabricRole::target) {
        accept(meeting, deadline);
    } else {
        connect(meeting, deadline);
    }
    greet(meeting, deadline);
}

FabricEndpoint::~FabricEndpoint() {
    leave_soon();
    ep_.reset();
    av_.reset();
    remove_shared_memory_of(peer_name_);
}

void FabricEndpoint::leave_soon() noexcept {
    last_resort_.arm(own_name_, peer_name_, most_time_to_leave);
}

bool FabricEndpoint::wants_local_memory() const noexcept {
    return (info_->domain_attr->mr_mode & FI_MR_LOCAL) != 0;
}

FabricInfo FabricEndpoint::hints() const {
    FabricInfo hints = library_.no_info();
    hints->caps = wanted_capabilities(options_);
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = type_of(options_.endpoint);
    hints->domain_attr->mr_mode =
        FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
    hints->domain_attr->threading = FI_THREAD_DOMAIN; // one thread drives it
    if (options_.endpoint != EndpointKind::dgram) {
        hints->tx_attr->msg_order = FI_ORDER_SAS; // what is received first was sent first
        hints->rx_attr->msg_order = FI_ORDER_SAS;
    }
    if (options_.provider) {
        hints->fabric_attr->prov_name = ::strdup(options_.provider->c_str()); // freed with it
    }
    return hints;
}

// A provider whose addresses are texts is asked for without an address: it names its ends itself.
FabricInfo FabricEndpoint::choose(const std::string& own_address) const {
    const FabricInfo wanted = hints();
    if (options_.provider) {
        FabricInfo found = library_.find(nullptr, 0, wanted.get());
        if (found && found->addr_format == FI_ADDR_STR) {
            if (options_.source_address) {
                throw Failure("unsupported", "provider " + *options_.provider +
                                                 " has no addresses of a network: it sends from "
                                                 "none of this host's");
            }
            return library_.copy_of(*found);
        }
    }
    const FabricInfo found = library_.find(own_address.c_str(), FI_SOURCE, wanted.get());
    if (!found) {
        throw Failure("unsupported",
                      "libfabric " + library_.version() + " has no provider here for endpoint " +
                          std::string(word_of(options_.endpoint)) + " with operation " +
                          std::string(word_of(options_.operation)) +
                          (options_.provider ? " that is called " + *options_.provider : "") +
                          " at " + own_address + "; `fi_info` lists those that there are");
    }
    return library_.copy_of(*found);
}

void FabricEndpoint::require(int error, const char* what) const {
    if (error != 0) {
        throw Failure("system", "provider " + std::string(info_->fabric_attr->prov_name) +
                                    " cannot " + what + ": " + library_.why(error));
    }
}

void FabricEndpoint::open_domain() {
    fid_fabric* fabric = nullptr;
    require(library_.open_fabric(*info_->fabric_attr, fabric), "open its fabric");
    fabric_.reset(fabric);
    fi_eq_attr of_events{};
    of_events.wait_obj = FI_WAIT_NONE;
    fid_eq* eq = nullptr;
    if (options_.endpoint == EndpointKind::msg) {
        of_events.wait_obj = FI_WAIT_UNSPEC;
        require(fi_eq_open(fabric_.get(), &of_events, &eq, nullptr), "open a queue of events");
        eq_.reset(eq);
    }
    fid_domain* domain = nullptr;
    require(fi_domain(fabric_.get(), info_.get(), &domain, nullptr), "open its domain");
    domain_.reset(domain);
    fi_cq_attr of_completions{};
    of_completions.size = completions_least;
    of_completions.format = FI_CQ_FORMAT_DATA;
    of_completions.wait_obj = options_.spin ? FI_WAIT_NONE : FI_WAIT_UNSPEC;
    fid_cq* cq = nullptr;
    const int error = fi_cq_open(domain_.get(), &of_completions, &cq, nullptr);
    if (error != 0 && !options_.spin) {
        throw Failure("unsupported", "provider " + std::string(info_->fabric_attr->prov_name) +
                                         " lets no program sleep until a message is there (" +
                                         library_.why(error) + "); ask for wait spin");
    }
    require(error, "open a queue of completions");
    cq_.reset(cq);
}

FabricHandle<fid_ep> FabricEndpoint::make_endpoint(fi_info& info) {
    fid_ep* made = nullptr;
    require(fi_endpoint(domain_.get(), &info, &made, nullptr), "make an endpoint");
    FabricHandle<fid_ep> ep(made);
    if (eq_) {
        require(fi_ep_bind(ep.get(), &eq_->fid, 0), "give an endpoint its events");
    }
    if (av_) {
        require(fi_ep_bind(ep.get(), &av_->fid, 0), "give an endpoint its addresses");
    }
    require(fi_ep_bind(ep.get(), &cq_->fid, FI_TRANSMIT | FI_RECV),
            "give an endpoint its completions");
    require(fi_enable(ep.get()), "enable an endpoint");
    return ep;
}

std::span<const std::byte> FabricEndpoint::name_of(fid& object, FabricCard& card) const {
    std::size_t bytes = card.name.size();
    require(fi_getname(&object, card.name.data(), &bytes), "tell an endpoint's name");
    card.name_bytes = static_cast<std::uint16_t>(bytes);
    card.address_format = info_->addr_format;
    return std::span(card.name).first(bytes);
}

// Events are asked for, not slept for: some providers make progress only while they are asked.
FabricInfo FabricEndpoint::await_event(std::uint32_t wanted, const Deadline& deadline) const {
    for (;;) {
        std::uint32_t event = 0;
        fi_eq_cm_entry entry{};
        const ssize_t got = fi_eq_read(eq_.get(), &event, &entry, sizeof entry, 0);
        if (got >= 0 && event == wanted) {
            return library_.adopt(event == FI_CONNREQ ? entry.info : nullptr);
        }
        if (got >= 0 && event == FI_SHUTDOWN) {
            throw Failure("peer_lost", "the other end ended the connection in the fabric");
        }
        if (got == -FI_EAVAIL) {
            throw event_failure();
        }
        if (got < 0 && got != -FI_EAGAIN) {
            require(static_cast<int>(got), "tell what happened to a connection");
        }
        if (deadline.interrupted() || deadline.left_ns() <= 0) {
            throw not_reached();
        }
        ::usleep(look_again_us);
    }
}

Failure FabricEndpoint::event_failure() const {
    fi_eq_err_entry error{};
    if (fi_eq_readerr(eq_.get(), &error, 0) < 0) {
        error.err = FI_EOTHER;
    }
    return {error.err == FI_ECONNREFUSED ? "refused" : "system",
            "the connection in the fabric failed: " + library_.why(error.err)};
}

void FabricEndpoint::connect(const MeetingPoint& meeting, const Deadline& deadline) {
    const FabricCard target = meeting.hear(FabricCard::Kind::name, deadline);
    FabricInfo towards = library_.copy_of(*info_);
    towards->dest_addr = std::malloc(target.name_bytes); // freed with it
    if (towards->dest_addr == nullptr) {
        throw Failure("no_memory", "not enough memory for the other end's name");
    }
    std::memcpy(towards->dest_addr, target.name.data(), target.name_bytes);
    towards->dest_addrlen = target.name_bytes;
    ep_ = make_endpoint(*towards);
    require(fi_connect(ep_.get(), towards->dest_addr, nullptr, 0), "connect to the other end");
    await_event(FI_CONNECTED, deadline);
}

void FabricEndpoint::accept(const MeetingPoint& meeting, const Deadline& deadline) {
    fid_pep* made = nullptr;
    require(fi_passive_ep(fabric_.get(), info_.get(), &made, nullptr), "make an end that waits");
    listening_.reset(made);
    require(fi_pep_bind(listening_.get(), &eq_->fid, 0), "give an end that waits its events");
    require(fi_listen(listening_.get()), "wait for the other end");
    FabricCard card{.kind = FabricCard::Kind::name};
    (void)name_of(listening_->fid, card);
    meeting.say(card);
    const FabricInfo asked = await_event(FI_CONNREQ, deadline);
    if (!asked) {
        throw Failure("peer_lost", "the other end's request for a connection says nothing");
    }
    ep_ = make_endpoint(*asked);
    require(fi_accept(ep_.get(), nullptr, 0), "accept the other end");
    await_event(FI_CONNECTED, deadline);
}

void FabricEndpoint::meet(const MeetingPoint& meeting, const Deadline& deadline) {
    fi_av_attr of_addresses{};
    of_addresses.type =
        info_->domain_attr->av_type == FI_AV_UNSPEC ? FI_AV_TABLE : info_->domain_attr->av_type;
    of_addresses.count = 1;
    fid_av* av = nullptr;
    require(fi_av_open(domain_.get(), &of_addresses, &av, nullptr), "open a table of addresses");
    av_.reset(av);
    ep_ = make_endpoint(*info_);
    FabricCard card{.kind = FabricCard::Kind::name};
    (void)name_of(ep_->fid, card);
    own_name_ = text_of(card);
    meeting.say(card);
    const FabricCard other = meeting.hear(FabricCard::Kind::name, deadline);
    if (other.address_format != info_->addr_format) {
        throw Failure("unsupported", "the two ends got providers whose addresses differ; name the "
                                     "provider");
    }
    peer_name_ = text_of(other);
    if (!may_be_here(peer_name_) ||
        fi_av_insert(av_.get(), other.name.data(), 1, &peer_, 0, nullptr) != 1) {
        throw Failure("unsupported", "provider " + std::string(info_->fabric_attr->prov_name) +
                                         " cannot reach the other end from here: both have to be "
                                         "in one fabric, and for memory of a host on one host");
    }
}

Failure FabricEndpoint::not_reached() const {
    return {"timeout", "the other end was not reached through the fabric with provider " +
                           std::string(info_->fabric_attr->prov_name) +
                           " (does a firewall let its ports through?)"};
}

Failure FabricEndpoint::greeting_failure() const {
    fi_cq_err_entry error{};
    if (fi_cq_readerr(cq_.get(), &error, 0) < 0) {
        error.err = FI_EOTHER;
    }
    return {"refused", "provider " + std::string(info_->fabric_attr->prov_name) +
                           " does not reach the other end: " + library_.why(error.err)};
}

void FabricEndpoint::hear_greeting() {
    if (wants_local_memory()) {
        greeting_.memory_in = register_memory(greeting_.in, false);
        greeting_.memory_out = register_memory(greeting_.out, false);
    }
    require(static_cast<int>(fi_recv(ep_.get(), greeting_.in.data(), greeting_.in.size(),
                                     greeting_.memory_in.descriptor(), FI_ADDR_UNSPEC,
                                     &greeting_.received)),
            "post a receive");
}

bool FabricEndpoint::say_greeting() {
    const ssize_t sent = fi_send(ep_.get(), greeting_.out.data(), greeting_.out.size(),
                                 greeting_.memory_out.descriptor(), peer_, &greeting_.sent);
    if (sent != -FI_EAGAIN) {
        require(static_cast<int>(sent), "reach the other end");
    }
    return sent == 0;
}

// A message each way: where no connection is made beforehand, providers make theirs with the first
// one. Datagrams may get lost, so there it is said again until the other end has heard.
void FabricEndpoint::greet(const MeetingPoint& meeting, const Deadline& deadline) {
    hear_greeting();
    const bool repeats = options_.endpoint == EndpointKind::dgram;
    bool heard = false;
    bool on_its_way = false;
    std::int64_t next_ns = 0;
    while (!heard || on_its_way || !meeting.has_card()) {
        const bool due = next_ns == 0 || (repeats && monotonic_ns() >= next_ns);
        if (due && !on_its_way && !(repeats && meeting.has_card())) {
            on_its_way = say_greeting();
            next_ns = on_its_way ? monotonic_ns() + greet_again_ns : 0;
        }
        std::array<fi_cq_data_entry, 2> entries{};
        const ssize_t got = fi_cq_read(cq_.get(), entries.data(), entries.size());
        for (ssize_t i = 0; i < got; ++i) {
            const void* const what = entries.at(static_cast<std::size_t>(i)).op_context;
            on_its_way = on_its_way && what != &greeting_.sent;
            if (what == &greeting_.received) {
                heard = true;
                meeting.say(FabricCard{.kind = FabricCard::Kind::heard});
            }
        }
        if (got == -FI_EAVAIL) {
            throw greeting_failure();
        }
        if (meeting.is_lost()) {
            throw Failure("peer_lost", "the other end gave up before it was reached");
        }
        if (deadline.interrupted() || deadline.left_ns() <= 0) {
            throw not_reached();
        }
    }
    (void)meeting.hear(FabricCard::Kind::heard, deadline);
}

FabricMemory FabricEndpoint::register_memory(std::span<std::byte> memory, bool remote) const {
    const int mode = info_->domain_attr->mr_mode;
    fid_mr* made = nullptr;
    const std::uint64_t rights = access | (remote ? FI_REMOTE_READ | FI_REMOTE_WRITE : 0);
    // Where the provider names no keys itself, an address is one that no other memory has.
    const std::uint64_t key = reinterpret_cast<std::uintptr_t>(memory.data()) & 0xFFFFFFFF;
    require(
        fi_mr_reg(domain_.get(), memory.data(), memory.size(), rights, 0, key, 0, &made, nullptr),
        "register memory");
    FabricHandle<fid_mr> region(made);
    if (remote && (mode & FI_MR_ENDPOINT) != 0) {
        require(fi_mr_bind(region.get(), &ep_->fid, 0), "give an endpoint its memory");
        require(fi_mr_enable(region.get()), "enable memory");
    }
    return {std::move(region), memory};
}

std::uint64_t FabricEndpoint::named(const std::byte* memory) const noexcept {
    const bool by_address = (info_->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0;
    return by_address ? reinterpret_cast<std::uintptr_t>(memory) : 0;
}

void FabricEndpoint::close() noexcept { ep_.reset(); }

nlohmann::json FabricEndpoint::facts() const {
    const fi_info& info = *info_;
    return {{"library_version", library_.version()},
            {"provider", info.fabric_attr->prov_name},
            {"provider_version", std::to_string(FI_MAJOR(info.fabric_attr->prov_version)) + "." +
                                     std::to_string(FI_MINOR(info.fabric_attr->prov_version))},
            {"fabric", info.fabric_attr->name != nullptr ? info.fabric_attr->name : ""},
            {"domain", info.domain_attr->name != nullptr ? info.domain_attr->name : ""},
            {"endpoint", std::string(word_of(options_.endpoint))},
            {"operation", std::string(word_of(options_.operation))},
            {"max_message_bytes", static_cast<std::int64_t>(std::min<std::size_t>(
                                      info.ep_attr->max_msg_size, INT64_MAX))},
            {"inject_bytes", static_cast<std::int64_t>(info.tx_attr->inject_size)},
            {"send_queue", static_cast<std::int64_t>(info.tx_attr->size)},
            {"receive_queue", static_cast<std::int64_t>(info.rx_attr->size)},
            {"most_parts", static_cast<std::int64_t>(info.tx_attr->iov_limit)},
            {"local_memory_registered", wants_local_memory()},
            {"memory_named_by_address", (info.domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0},
            {"keys_by_provider", (info.domain_attr->mr_mode & FI_MR_PROV_KEY) != 0},
            {"progress", info.domain_attr->data_progress == FI_PROGRESS_AUTO ? "auto" : "manual"},
            {"remote_memory", (info.caps & FI_RMA) != 0},
            {"atomics", (info.caps & FI_ATOMIC) != 0}};
}

} // namespace sonde
