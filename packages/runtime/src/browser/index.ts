export type {
  Acted,
  Browser,
  Desk,
  DeskOptions,
  DeskPlace,
  Download,
  HostPolicy,
  Look,
  LookOptions,
  Refusal,
  Screenshot,
  ScreenshotOptions,
  StorageState,
  Target
} from './browser.ts'
export type { DeskAction, Spot, UploadedFile } from './desk-action.ts'
export { findChromium } from './chromium/find-chromium.ts'
export { chromium } from './chromium/chromium.ts'
export type { ChromiumOptions } from './chromium/chromium-options.ts'
