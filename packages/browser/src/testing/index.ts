export { browserContract, type MakeBrowser } from './browser-contract.ts'
