#include "worker/asked_kernel_trace.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/clock.hpp"

namespace sonde {
namespace {

// Each name once; a series has the places of its names. The first is that of events without one.
class Names {
public:
    std::int64_t place(const std::string& name) {
        const auto found = std::ranges::find(names_, name);
        const auto place = found - names_.begin();
        if (found == names_.end()) {
            names_.push_back(name);
        }
        return place;
    }

    [[nodiscard]] std::string joined() const {
        std::string text; // the first name is empty
        for (std::size_t i = 1; i < names_.size(); ++i) {
            text += '\n';
            text += names_.at(i);
        }
        return text;
    }

private:
    std::vector<std::string> names_{""};
};

} // namespace

void AskedKernelTrace::ask(bool wanted) {
    forget();
    asked_ = wanted;
    if (wanted) {
        kernel_trace_ = load_kernel_trace(missing_);
    }
}

void AskedKernelTrace::forget() {
    asked_ = false;
    missing_ = {};
    kernel_trace_.reset();
}

void AskedKernelTrace::watch(int test, int control) {
    if (kernel_trace_) {
        kernel_trace_->watch(test, SocketRole::test);
        kernel_trace_->watch(control, SocketRole::control);
    }
}

void AskedKernelTrace::add_to(nlohmann::json& opened) const {
    if (!asked_) {
        return;
    }
    opened["depth"] = kernel_trace_ != nullptr;
    if (!kernel_trace_) {
        opened["depth_missing"] = missing_.reason;
        opened["depth_detail"] = missing_.detail;
    }
}

void AskedKernelTrace::add_before(CounterValues& values) {
    if (kernel_trace_) {
        kernel_trace_->begin();
        kernel_trace_->add(values);
    }
}

void AskedKernelTrace::add_now(CounterValues& values) const {
    if (kernel_trace_) {
        kernel_trace_->add(values);
    }
}

void AskedKernelTrace::take_events() {
    if (kernel_trace_) {
        events_ = kernel_trace_->events();
    }
}

void AskedKernelTrace::report(Result& result) const {
    if (!kernel_trace_) {
        return;
    }
    const std::int64_t start_ns = result.counters.at("start_ns");
    Names names;
    std::vector<std::int64_t> begin;
    std::vector<std::int64_t> duration;
    std::vector<std::int64_t> kind;
    std::vector<std::int64_t> processor;
    std::vector<std::int64_t> detail;
    std::vector<std::int64_t> name;
    for (const KernelEvent& event : events_.kept) {
        begin.push_back(host_clock_ns(event.begin_ns) - start_ns);
        duration.push_back(event.duration_ns);
        kind.push_back(event.kind);
        processor.push_back(event.processor);
        detail.push_back(event.detail);
        name.push_back(names.place(event.name));
    }
    result.series.push_back({"event_begin_ns", "ns", std::move(begin)});
    result.series.push_back({"event_duration_ns", "ns", std::move(duration)});
    result.series.push_back({"event_kind", "count", std::move(kind)});
    result.series.push_back({"event_processor", "count", std::move(processor)});
    result.series.push_back({"event_detail", "count", std::move(detail)});
    result.series.push_back({"event_name", "count", std::move(name)});
    result.count("events_lost", events_.lost);
    result.words["event_names"] = names.joined();
}

} // namespace sonde
