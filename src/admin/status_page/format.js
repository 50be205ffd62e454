// Values as text, each with its unit. Unknown ones (null) are a dash.

const whole = new Intl.NumberFormat("en", {maximumFractionDigits: 0});

function digits(value) {
  return value >= 100 || Number.isInteger(value) ? whole.format(value)
                                                 : value.toPrecision(value < 10 ? 2 : 3);
}

export function count(value) {
  return value == null ? "–" : whole.format(value);
}

export function rounded(value) {
  return count(value == null ? null : Math.round(value));
}

export function plural(value, one, many = one + "s") {
  return `${count(value)} ${value === 1 ? one : many}`;
}

export function rate(value) {
  return value == null ? "–" : `${digits(value)}/s`;
}

// Also of a BigInt, which a distance between LSNs may need.
export function bytes(value) {
  if (value == null) return "–";
  let number = Number(value);
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
  let unit = 0;
  while (number >= 1024 && unit < units.length - 1) {
    number /= 1024;
    unit += 1;
  }
  return `${digits(number)} ${units[unit]}`;
}

export function byteRate(value) {
  return value == null ? "–" : `${bytes(value)}/s`;
}

export function seconds(value) {
  if (value == null) return "–";
  if (value === 0) return "0 s";
  if (value < 0.001) return `${digits(value * 1e6)} µs`;
  if (value < 1) return `${digits(value * 1e3)} ms`;
  if (value < 120) return `${digits(value)} s`;
  if (value < 7200) return `${Math.round(value / 60)} min`;
  if (value < 172800) return `${(value / 3600).toFixed(1)} h`;
  return `${Math.floor(value / 86400)} days`;
}

// Whole seconds, for what changes each second.
export function duration(value) {
  return value == null ? "–" : seconds(value < 120 ? Math.floor(value) : value);
}

// "16/B374D848", as Postgres writes it, as a BigInt; null: not known.
export function lsn(text) {
  const parts = /^([0-9A-F]{1,8})\/([0-9A-F]{1,8})$/i.exec(text ?? "");
  if (!parts) return null;
  const value = (BigInt("0x" + parts[1]) << 32n) + BigInt("0x" + parts[2]);
  return value === 0n ? null : value;
}

export function lsnText(value) {
  const half = (number) => number.toString(16).toUpperCase();
  return value == null ? "–" : `${half(value >> 32n)}/${half(value & 0xffffffffn)}`;
}

// 170002 -> "17.2"
export function serverVersion(number) {
  return number ? `${Math.floor(number / 10000)}.${number % 10000}` : "–";
}
