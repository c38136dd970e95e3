import { REG_ERR_OLD_NODE } from './errors.ts'

/** The oldest Node that the packages run on, as their `engines` say. */
const OLDEST = [22, 16] as const

/** Makes sure that this Node is new enough: on an older one the first request would fail. @throws REG_ERR_OLD_NODE */
export function requireNode(version: string = process.versions.node): void {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const isNew = major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])
  if (!isNew) throw new REG_ERR_OLD_NODE(OLDEST.join('.'), version)
}
