// keys.js - keys are strings of decimal digits, because numbers lose digits above 2^53.

export const is_key = (text) => /^(0|[1-9][0-9]{0,19})$/.test(text) && BigInt(text) < 1n << 64n;

export function compare(a, b) {
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : a > b ? 1 : 0;
}

/// How many keys of an ascending array are less than `key`.
export function count_less(keys, key) {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compare(keys[middle], key) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/// How many are not greater.
export function count_not_greater(keys, key) {
  const less = count_less(keys, key);
  return less < keys.length && keys[less] === key ? less + 1 : less;
}

/// 1234567 as 1 234 567, with spaces that do not break.
export const grouped = (n) => String(n).replace(/\B(?=(\d{3})+(?!\d))/g, '\u202f');
