#include "schedule/variants.hpp"

#include <algorithm>
#include <bit>

#include "schedule/patterns.hpp"
#include "schedule/read.hpp"

namespace sonde::schedule {

namespace {

// Sizes that differ from each other, some of them nothing.
std::vector<std::int64_t> unequal_sizes(const Algorithm& algorithm, Rank ranks) {
    const std::int64_t count =
        algorithm.family == Family::alltoall ? std::int64_t{ranks} * ranks : std::int64_t{ranks};
    std::vector<std::int64_t> sizes;
    sizes.reserve(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) {
        sizes.push_back(i * 7 % 5 * 700);
    }
    return sizes;
}

class Cases {
public:
    Cases(const Algorithm& algorithm, const Parameters& asked)
        : uses_(algorithm.uses), asked_(fitting(algorithm, asked)) {
        add("", [](Parameters&) {});
    }
    template <class Change>
    void add(const std::string& name, Change change) {
        Parameters parameters = asked_;
        change(parameters);
        cases_.push_back({name, std::move(parameters)});
    }
    void add_sizes(const Algorithm& algorithm) {
        add("no bytes", [](Parameters& p) {
            p.block_bytes = 0;
            p.sizes.clear();
        });
        add("one byte", [](Parameters& p) {
            p.block_bytes = 1;
            p.sizes.clear();
        });
        if (asked_.ranks > 2) {
            add("a byte less than there are ranks", [](Parameters& p) {
                p.block_bytes = p.ranks - 1;
                p.sizes.clear();
            });
        }
        if (uses_.sizes && asked_.ranks <= 256) {
            add("unequal sizes",
                [&](Parameters& p) { p.sizes = unequal_sizes(algorithm, p.ranks); });
        }
    }
    void add_fan_outs() {
        for (const Rank fan_out : {1, 2, 3, 5}) {
            if (uses_.fan_out && fan_out < asked_.ranks) {
                add("fan-out " + std::to_string(fan_out),
                    [&](Parameters& p) { p.fan_out = fan_out; });
            }
        }
    }
    void add_permutations() {
        for (const Permutation permutation :
             {Permutation::shift, Permutation::exclusive_or, Permutation::edge_colour}) {
            if (uses_.permutation) {
                add("permutation " + std::string(permutation_name(permutation)),
                    [&](Parameters& p) { p.permutation = permutation; });
            }
        }
    }
    void add_network() {
        const Rank hosts = divisor_below_root(asked_.ranks);
        if (uses_.hierarchy && asked_.hierarchy.empty()) {
            const std::vector<Rank> levels{hosts, asked_.ranks / hosts};
            add("hierarchy", [&](Parameters& p) { p.hierarchy = levels; });
            if (uses_.remap) {
                add("remapped", [&](Parameters& p) {
                    p.hierarchy = levels;
                    p.remap = true;
                });
            }
        }
        if (uses_.window) {
            add("window 1", [](Parameters& p) { p.window = 1; });
            add("window 5", [](Parameters& p) { p.window = 5; });
        }
    }
    std::vector<Variant> take() { return std::move(cases_); }

private:
    Uses uses_;
    Parameters asked_;
    std::vector<Variant> cases_;
};

} // namespace

Parameters fitting(const Algorithm& algorithm, Parameters parameters) {
    const Uses& uses = algorithm.uses;
    const Parameters none;
    parameters.root = uses.root ? parameters.root : none.root;
    parameters.fan_out = uses.fan_out ? parameters.fan_out : none.fan_out;
    parameters.window = uses.window ? parameters.window : none.window;
    if (!uses.sizes) {
        parameters.sizes.clear();
    }
    if (!uses.permutation) {
        parameters.permutation.reset();
    }
    if (!uses.hierarchy) {
        parameters.hierarchy.clear();
    }
    parameters.remap = uses.remap && parameters.remap;
    if (uses.commutative || !is_reduction(algorithm.family)) {
        parameters.commutative = true;
    }
    return parameters;
}

std::vector<Variant> variants(const Algorithm& algorithm, const Parameters& asked) {
    Cases cases(algorithm, asked);
    cases.add_sizes(algorithm);
    if (is_reduction(algorithm.family) && !algorithm.uses.commutative) {
        cases.add("an operation that does not commute",
                  [](Parameters& p) { p.commutative = false; });
    }
    cases.add_fan_outs();
    cases.add_permutations();
    cases.add_network();
    return cases.take();
}

bool possible(const Algorithm& algorithm, Rank ranks) {
    return !algorithm.uses.power_of_two || std::has_single_bit(static_cast<std::uint32_t>(ranks));
}

std::vector<Rank> proven_roots(const Algorithm& algorithm, Rank ranks, bool all) {
    constexpr Rank few = 8;
    std::vector<Rank> roots{0};
    const Rank stride = all || ranks <= 2 * few ? 1 : ranks / few;
    for (Rank root = stride; algorithm.uses.root && root < ranks; root += stride) {
        roots.push_back(root);
    }
    if (algorithm.uses.root && roots.back() != ranks - 1) {
        roots.push_back(ranks - 1);
    }
    return roots;
}

Proof prove(const Algorithm& algorithm, const std::vector<Variant>& cases) {
    constexpr std::size_t kept = 8;
    Proof proof;
    for (const Variant& variant : cases) {
        Parameters parameters = variant.parameters;
        for (const Rank root : proven_roots(algorithm, parameters.ranks, proof.cases == 0)) {
            parameters.root = root;
            check(algorithm, parameters);
            Findings findings = examine(*algorithm.make(parameters), algorithm.family);
            proof.problem_count += findings.problem_count;
            for (const std::string& problem : findings.problems) {
                if (proof.problems.size() < kept) {
                    proof.problems.push_back(
                        (variant.name.empty() ? "" : variant.name + ", ") +
                        (algorithm.uses.root ? "root " + std::to_string(root) + ": " : "") +
                        problem);
                }
            }
            if (proof.cases++ == 0) {
                proof.asked = std::move(findings);
            }
        }
    }
    return proof;
}

} // namespace sonde::schedule
