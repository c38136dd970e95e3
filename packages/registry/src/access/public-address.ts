import { BlockList, isIP, isIPv6 } from 'node:net'

// The special-purpose registries of IANA (RFC 6890): what is not for the public internet.
const NOT_PUBLIC_V4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4'
]
// Of IPv6 only global unicast is public, without what tunnels to IPv4 or is for documentation.
const PUBLIC_V6 = '2000::/3'
const NOT_PUBLIC_V6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20']

const refusedV4 = listOf(NOT_PUBLIC_V4, 'ipv4')
const refusedV6 = listOf(NOT_PUBLIC_V6, 'ipv6')
const allowedV6 = listOf([PUBLIC_V6], 'ipv6')

/** Whether an IP address is one of the public internet; false for anything that is no address. */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 0 || address.includes('%')) return false
  if (!isIPv6(address)) return !refusedV4.check(address, 'ipv4')
  return allowedV6.check(address, 'ipv6') && !refusedV6.check(address, 'ipv6')
}

function listOf(subnets: readonly string[], family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList()
  for (const subnet of subnets) {
    const [net = '', prefix] = subnet.split('/')
    list.addSubnet(net, Number(prefix), family)
  }
  return list
}
