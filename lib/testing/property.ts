import fc from 'fast-check'
import { chooseSeed } from '#lib/testing/seed.ts'

fc.configureGlobal({ seed: chooseSeed() })

export default fc
