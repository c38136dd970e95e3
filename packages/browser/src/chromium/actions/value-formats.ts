const FORMATS: Readonly<Record<string, readonly [RegExp, string]>> = {
  date: [/^\d{4,6}-\d\d-\d\d$/, 'a date field takes YYYY-MM-DD, e.g. 2027-03-31'],
  time: [/^\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?$/, 'a time field takes HH:MM, e.g. 14:30'],
  'datetime-local': [
    /^\d{4,6}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?$/,
    'a field for date and time takes YYYY-MM-DDTHH:MM, e.g. 2027-03-31T14:30'
  ],
  month: [/^\d{4,6}-\d\d$/, 'a month field takes YYYY-MM, e.g. 2027-03'],
  week: [/^\d{4,6}-W\d\d$/, 'a week field takes YYYY-Www, e.g. 2027-W13'],
  color: [/^#[0-9a-f]{6}$/, 'a colour field takes #rrggbb, e.g. #ff8800'],
  range: [/^[+-]?(?:\d+\.?\d*|\.\d+)$/, 'a slider takes a number'],
  number: [/^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/, 'a number field takes digits only, e.g. 12.5']
}

/** Why an input of a type takes no such value; undefined if it does. The empty value clears all but sliders and colours. */
export function formatFault(type: string, value: string): string | undefined {
  const format = FORMATS[type]
  if (format === undefined) return undefined
  if (value === '' && type !== 'range' && type !== 'color') return undefined
  return format[0].test(value) ? undefined : format[1]
}
