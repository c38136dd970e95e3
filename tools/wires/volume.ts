/** Whether tests run in full, as `npm run soak -- --only tests` does, rather than in the short form of `npm test`. */
export const isFull = process.env['FUZZ'] === '1'

/** How many random cases a test makes: an eighth in the short form. */
export const cases = (all: number) => (isFull ? all : Math.ceil(all / 8))
