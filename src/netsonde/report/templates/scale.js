// Values to pixels, and where an axis is labelled. Values are in the unit of their kind: ns, bit/s, bytes, shares.
const UNITS = {
  time_ns: [[1e9, " s"], [1e6, " ms"], [1e3, " µs"], [1, " ns"]],
  bit_per_s: [[1e12, " Tbit/s"], [1e9, " Gbit/s"], [1e6, " Mbit/s"], [1e3, " kbit/s"], [1, " bit/s"]],
  ratio: [[0.01, "%"]],
  size: [[2 ** 30, "G"], [2 ** 20, "M"], [2 ** 10, "k"], [1, ""]],
  count: [[1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]],
};
const MANTISSAS = [[1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9], [1, 2, 3, 5], [1, 2, 5], [1, 3], [1]];
const MARGIN = 0.04;  // of an axis, beyond the values at its ends

function unitOf(largest, kind) {
  const units = UNITS[kind] || [[1, ""]];
  return units.find(function (unit) { return Math.abs(largest) >= unit[0] * 0.9995; }) || units[units.length - 1];
}
function written(value, unit, digits) {
  return String(Number((value / unit[0]).toPrecision(digits))) + unit[1];
}
// A value by itself, with the digits that hovering shows.
function valueText(value, axis) {
  if (axis.names) return axis.names[Math.round(value)] || "";
  if (axis.kind === "size") return value.toLocaleString("en").replaceAll(",", "\u202f") + " B";
  return written(value, unitOf(value, axis.kind), 4);
}

// Pixels run from the low end to the high one.
function scaleOf(axis, low, high, from, to) {
  const forth = axis.log ? Math.log10 : Number;
  const begin = forth(low);
  const each = (to - from) / (forth(high) - begin);
  return {
    low: low, high: high, length: Math.abs(to - from),
    at: function (value) { return from + (forth(value) - begin) * each; },
    back: function (pixel) {
      const place = begin + (pixel - from) / each;
      return axis.log ? 10 ** place : place;
    },
  };
}

// The ends of an axis: given ones as they are, others a little beyond the values.
function rangeOf(axis, values) {
  let low = Infinity, high = -Infinity;
  for (const value of values) {
    if (value === null || (axis.log && value <= 0)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (axis.names) return [-0.5, axis.names.length - 0.5];
  if (low > high) [low, high] = axis.log ? [1, 10] : [0, 1];
  if (axis.log) {
    const beyond = Math.max((high / low) ** MARGIN, 1.05);
    [low, high] = [low / beyond, high * beyond];
  } else {
    const beyond = (high - low) * MARGIN || Math.abs(high) * 0.1 || 1;
    [low, high] = [axis.low === 0 ? 0 : low - beyond, high + beyond];
  }
  return [axis.low > 0 || (axis.low !== undefined && axis.high !== undefined) ? axis.low : low,
    axis.high === undefined ? high : axis.high];
}

// [value, words] of each label, at least `room` pixels apart.
function ticksOf(axis, scale, room) {
  if (axis.names) return namedTicks(axis.names, scale, room);
  if (axis.log && axis.kind === "size") {
    const found = powersOfTwo(scale, room);
    if (found.length > 1) return found;
  }
  if (axis.log && scale.high / scale.low > 1.5) {
    const places = logarithmicPlaces(scale, room);
    if (places.length > 1) {
      return places.map(function (v) { return [v, written(v, unitOf(v, axis.kind), 3)]; });
    }
  }
  return evenTicks(axis, scale, room);
}
function namedTicks(names, scale, room) {
  const step = Math.max(1, Math.ceil(room * (scale.high - scale.low) / scale.length));
  return names.map(function (name, place) { return [place, name]; }).filter(function (tick) {
    return tick[0] % step === 0 && tick[0] >= scale.low && tick[0] <= scale.high;
  });
}
function powersOfTwo(scale, room) {
  const doublings = Math.log2(scale.high / scale.low);
  const step = [1, 2, 4, 10, 20].find(function (n) { return n * scale.length >= room * doublings; });
  const found = [];
  for (let power = 0; step && power <= 50; power += step) {
    const value = 2 ** power;
    if (value >= scale.low && value <= scale.high) found.push([value, written(value, unitOf(value, "size"), 4)]);
  }
  return found;
}
function logarithmicPlaces(scale, room) {
  const first = Math.floor(Math.log10(scale.low)), last = Math.ceil(Math.log10(scale.high));
  const within = function (v) { return v >= scale.low && v <= scale.high; };
  for (const mantissas of MANTISSAS) {
    const found = [];
    for (let power = first; power <= last; power += 1) {
      for (const m of mantissas) found.push(Number((m * 10 ** power).toPrecision(3)));
    }
    const seen = found.filter(within);
    if (seen.every(function (v, i) { return i === 0 || Math.abs(scale.at(v) - scale.at(seen[i - 1])) >= room; })) {
      return seen;
    }
  }
  const decade = scale.length / Math.log10(scale.high / scale.low);
  const step = Math.ceil(room / decade), found = [];
  for (let power = Math.ceil(first / step) * step; power <= last; power += step) found.push(10 ** power);
  return found.filter(within);
}
// Multiples of 1, 2 or 5 times a power of ten of the unit that the largest one has.
function evenTicks(axis, scale, room) {
  const apart = (scale.high - scale.low) * room / scale.length;
  const largest = Math.max(Math.abs(scale.low), Math.abs(scale.high));
  const unit = unitOf(axis.kind === "size" ? apart : largest, axis.kind);  // 1480 bytes are not 1.445k
  const least = apart / unit[0];
  const power = 10 ** Math.floor(Math.log10(least));
  const times = [1, 2, 5, 10].find(function (m) { return m * power >= least * 0.999; });
  const whole = (axis.kind === "count" || axis.kind === "size") && unit[0] === 1;
  const step = whole ? Math.max(1, times * power) : times * power;
  const found = [];
  for (let n = Math.ceil(scale.low / unit[0] / step - 1e-9); n * step <= scale.high / unit[0] * (1 + 1e-9); n += 1) {
    found.push([n * step * unit[0], n === 0 ? "0" : written(n * step * unit[0], unit, 10)]);
  }
  return found;
}
