import root, { type Test } from 'tap'

// Everything that `tap` exports, so that a test file cannot see the difference.
export * from 'tap'

/** The test of the process. */
export { default as root } from 'tap'

let current: Test = root

/** Makes `t`, as test files import it, the test of the file that starts now. */
export function enterFile(test: Test) {
  current = test
}

/** Stands for the default export of `tap` in a process that runs several test files: the test of the file that runs now. */
const t = new Proxy<Test>(root, {
  get(_root, key) {
    const value: unknown = Reflect.get(current, key, current)
    return typeof value === 'function' ? value.bind(current) : value
  },
  set: (_root, key, value) => Reflect.set(current, key, value, current)
})

export default t
