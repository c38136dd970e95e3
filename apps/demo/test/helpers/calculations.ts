/** Calculations as people ask for them, each with its result as it is written. */
export const CALCULATIONS: readonly (readonly [question: string, value: string])[] = [
  ['What is 2 + 2?', '4'],
  ['12 * (3+4)', '84'],
  ['2+2=?', '4'],
  ['What is 15% of 80?', '12'],
  ['calculate 7 times 8', '56'],
  ['12 plus 7 please', '19'],
  ['What is 20 divided by 4?', '5'],
  ['2^10', '1024'],
  ['(1+2)*(3+4)/7', '3'],
  ['((((1))))+1', '2'],
  ['0.1 + 0.2', '0.3'],
  ['How much is 1,000,000 * 3?', '3000000'],
  ['-5 + 3', '-2'],
  ['3 x 4', '12'],
  ['10 ÷ 4', '2.5'],
  ['What is 5!', '120'],
  ['1 / 3', '0.333333333333333'],
  ['sqrt(16) + 3^2', '13'],
  ['9007199254740993 + 1', '9007199254740994']
]

/** What has no result, or none that can be told, each with what is said of it. */
export const REFUSED_CALCULATIONS: readonly (readonly [question: string, answer: RegExp])[] = [
  ['What is 10 / 0?', /could not calculate 10 \/ 0: a division by zero/],
  ['((2 + 3)', /could not calculate/],
  ['sqrt(-1)', /could not calculate/],
  ['9999999999 ^ 9999999999', /too large/]
]
