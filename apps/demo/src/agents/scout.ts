import type { Model } from '@svc/runtime'
import { SHOP } from '../address.ts'
import { BrowserAgent, chromium, risky, type Browser } from '@svc/browser'

const INSTRUCTIONS = `You are the scout of the agent transport service's demo. You look things up in its shop, and order there when you
are asked to. Follow the links, and read the page before you answer: never answer from memory. Name
the address of the page that you read. Accept terms, and fill in a form, only as the user says; ask for what is missing. If an
approval was denied, say so.`

/** Chromium for the scout; it starts with the first page that is opened. */
export function createBrowser(): Browser {
  // Chromium's own sandbox does not work for root, as which the demo runs in most containers. The pages here are its own.
  return chromium({ sandbox: process.getuid?.() !== 0 })
}

/** An agent that browses the demo's shop, and nothing else. To send an order it needs an approval. */
export function createScout(model: Model, browser: Browser, address: string): BrowserAgent {
  return new BrowserAgent({
    name: 'scout',
    description:
      'Answers questions about the shop of this demo by browsing it. To place an order it asks for an approval.',
    instructions: `${INSTRUCTIONS}\nStart at http://${address}${SHOP}`,
    model,
    browser,
    allow: [],
    privateHosts: [address],
    approval: risky(['pay']),
    screenshots: 'steps',
    replace: true
  })
}
