#include "tools/lab/path_flags.h"

#include <cstdio>

#include "tools/lab/path_values.h"

namespace lambda::lab {
namespace {

std::string number(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.4g", value);
    return text;
}

std::string link_text(const char* name, const LinkSpec& link) {
    const Impairments& now = link.impairments;
    std::string text = std::string(name) + ": " + format_rate(now.rate) + ", queue " +
                       format_size(link.queue) + ", delay " + format_duration(now.delay);
    if (now.jitter > Duration{0}) text += ", jitter " + format_duration(now.jitter);
    if (now.loss.rate > 0) text += ", loss " + number(now.loss.rate);
    if (now.loss.burst > 1) text += " in bursts of " + number(now.loss.burst);
    if (now.duplicate > 0) text += ", duplicate " + number(now.duplicate);
    if (now.reorder.rate > 0) {
        text += ", reorder " + number(now.reorder.rate) + " by " + format_duration(now.reorder.by);
    }
    if (link.mtu > 0) text += ", mtu " + std::to_string(link.mtu);
    return text + "\n";
}

}  // namespace

PathSpec plain_path() {
    PathSpec path;
    path.hosts.resize(2);
    path.hosts[0].name = "client";
    path.hosts[1].name = "server";
    path.hosts[1].end = End::right;
    return path;
}

Result<PathSpec> with_flags(PathSpec path, const PathFlags& flags) {
    const char* name = "";
    const auto either = [&](auto share) {
        return share(path.forward.impairments) > 0 || share(path.backward.impairments) > 0;
    };
    const auto each = [&](const char* flag, const std::optional<std::string>& text, auto set) {
        name = flag;
        if (!text) return;
        for (LinkSpec* link : {&path.forward, &path.backward}) set(*link, *text);
    };
    try {
        each("rate", flags.rate,
             [](LinkSpec& l, const std::string& t) { l.impairments.rate = to_rate(t); });
        each("rtt", flags.rtt,
             [](LinkSpec& l, const std::string& t) { l.impairments.delay = to_delay(t) / 2; });
        if (flags.rtt) {
            for (HostSpec& host : path.hosts) host.delay = Duration{0};
        }
        each("jitter", flags.jitter,
             [](LinkSpec& l, const std::string& t) { l.impairments.jitter = to_delay(t); });
        each("duplicate", flags.duplicate,
             [](LinkSpec& l, const std::string& t) { l.impairments.duplicate = to_share(t); });
        each("reorder", flags.reorder,
             [](LinkSpec& l, const std::string& t) { l.impairments.reorder.rate = to_share(t); });
        each("reorder-by", flags.reorder_by, [](LinkSpec& l, const std::string& t) {
            if (l.impairments.reorder.rate > 0) l.impairments.reorder.by = to_delay(t);
        });
        if (flags.reorder_by && !either([](const Impairments& i) { return i.reorder.rate; }))
            throw Wrong{"goes with --reorder"};
        each("mtu", flags.mtu, [](LinkSpec& l, const std::string& t) { l.mtu = to_mtu(t); });
        each("loss", flags.loss, [](LinkSpec& l, const std::string& t) {
            l.impairments.loss = {to_share(t), 1};
        });
        each("loss-burst", flags.loss_burst, [](LinkSpec& l, const std::string& t) {
            if (l.impairments.loss.rate > 0) l.impairments.loss.burst = to_burst(t);
        });
        if (flags.loss_burst && !either([](const Impairments& i) { return i.loss.rate; }))
            throw Wrong{"goes with --loss: nothing is lost"};
        name = "loss";
        check_loss(path.forward.impairments.loss);
        check_loss(path.backward.impairments.loss);
        each("congestion", flags.congestion, [&](LinkSpec&, const std::string& t) {
            for (HostSpec& host : path.hosts) host.congestion = to_congestion(t);
        });
        each("queue", flags.queue, [](LinkSpec& l, const std::string& t) { to_queue(t, l); });
        name = "queue";
        resolve_queues(path);
    } catch (const Wrong& wrong) {
        return Error{.fault = Fault::usage,
                     .message = std::string("--") + name + ": " + wrong.what,
                     .path = {},
                     .side = Side::local,
                     .remedy = {}};
    }
    return path;
}

std::string path_text(const PathSpec& path) {
    std::string text = link_text("forward", path.forward) + link_text("backward", path.backward);
    for (const HostSpec& host : path.hosts) {
        text += host.name + " (" + (host.end == End::left ? "left" : "right") + "): delay " +
                format_duration(host.delay) + ", mtu " + std::to_string(host.mtu) +
                (host.congestion.empty() ? "" : ", " + host.congestion) + "\n";
    }
    text += "mean round trip " + format_duration(mean_round_trip(path)) + ", at most " +
            format_size(static_cast<std::uint64_t>(most_bytes_in_flight(path))) + " on the way, " +
            std::to_string(path.timetable.size()) + " changes\n";
    return text;
}

}  // namespace lambda::lab
