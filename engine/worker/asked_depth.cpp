#include "worker/asked_depth.hpp"

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

void AskedDepth::ask(bool wanted) {
    forget();
    asked_ = wanted;
    if (wanted) {
        depth_ = load_depth(missing_);
    }
}

void AskedDepth::forget() {
    asked_ = false;
    missing_ = {};
    depth_.reset();
}

void AskedDepth::watch(int test, int control) {
    if (depth_) {
        depth_->watch(test, SocketRole::test);
        depth_->watch(control, SocketRole::control);
    }
}

void AskedDepth::add_to(nlohmann::json& opened) const {
    if (!asked_) {
        return;
    }
    opened["depth"] = depth_ != nullptr;
    if (!depth_) {
        opened["depth_missing"] = missing_.reason;
        opened["depth_detail"] = missing_.detail;
    }
}

void AskedDepth::add_before(CounterValues& values) {
    if (depth_) {
        depth_->begin();
        depth_->add(values);
    }
}

void AskedDepth::add_now(CounterValues& values) const {
    if (depth_) {
        depth_->add(values);
    }
}

void AskedDepth::take_events() {
    if (depth_) {
        events_ = depth_->events();
    }
}

void AskedDepth::report(Result& result) const {
    if (!depth_) {
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
    for (const DepthEvent& event : events_.kept) {
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
