import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { InvalidArgumentError, Secret, SecretError, SecretNotFoundError } from 'e2b'
import { all, api, fails, fresh } from './berth.ts'

describe('secrets', () => {
  async function secret(t: TestContext, value = 'v4lue-of-it') {
    const made = await Secret.create(fresh('SECRET'), value, { metadata: { team: 'a' } })
    t.after(() => Secret.destroy(made.secretId))
    return made
  }

  test('a secret is made, and told without its value', async t => {
    const made = await secret(t)
    assert.equal(made.version, 1)
    assert.deepEqual(made.metadata, { team: 'a' })
    assert.ok(made.createdAt instanceof Date && !Number.isNaN(made.createdAt.getTime()))
    for (const name of [made.name, made.secretId]) {
      const raw = await api('GET', `/secrets/${name}`)
      assert.equal(raw.status, 200, raw.text)
      assert.ok(!raw.text.includes('v4lue-of-it'))
      assert.equal((await Secret.getInfo(name)).secretId, made.secretId)
    }
  })

  test('a new value is a new version, and metadata is replaced when it is given', async t => {
    const made = await secret(t)
    const updated = await Secret.update(made.name, 'another value', { metadata: { team: 'b' } })
    assert.equal(updated.secretId, made.secretId)
    assert.equal(updated.version, 2)
    assert.deepEqual(updated.metadata, { team: 'b' })
    assert.equal((await Secret.update(made.secretId, 'third')).version, 3)
  })

  test('exists, and not', async t => {
    const made = await secret(t)
    assert.equal(await Secret.exists(made.name), true)
    assert.equal(await Secret.exists(fresh('NONE')), false)
  })

  test('a list comes in pages', async t => {
    const names = new Set([(await secret(t)).name, (await secret(t)).name, (await secret(t)).name])
    const pages = Secret.list({ limit: 2 })
    assert.equal((await pages.nextItems()).length, 2)
    assert.equal(pages.hasNext, true)
    const found = (await all(Secret.list({ limit: 2 }))).map(it => it.name)
    assert.ok([...names].every(it => found.includes(it)))
    assert.equal(new Set(found).size, found.length)
  })

  test('a secret is destroyed once', async t => {
    const made = await secret(t)
    assert.equal(await Secret.destroy(made.name), true)
    assert.equal(await Secret.destroy(made.name), false)
    await fails(Secret.getInfo(made.name), SecretNotFoundError)
    await fails(Secret.update(made.name, 'x'), SecretNotFoundError)
  })

  test('a name that is taken, or none, is a SecretError', async t => {
    const made = await secret(t)
    await fails(Secret.create(made.name, 'x'), SecretError)
    await fails(Secret.create('', 'x'), SecretError)
  })

  test('a secret is named in a rule by a placeholder', () => {
    assert.equal(Secret.fill('API_KEY'), '${e2b.secrets.API_KEY}')
    assert.throws(() => Secret.fill('a}b'), InvalidArgumentError)
  })
})
